//! `cargo vcr`: recordings of language models, outside of `cargo test`.

mod args;
mod files;
mod frozen;
mod serve;

use std::process::ExitCode;

use args::{Cargo, Command};
use clap::Parser as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // cargo runs `cargo-vcr vcr serve`; by hand people write `cargo-vcr serve`.
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_none_or(|word| word != "vcr") {
        words.insert(1.min(words.len()), "vcr".into());
    }
    let Cargo::Vcr(arguments) = Cargo::parse_from(words);
    match arguments.command {
        Command::Serve(arguments) => serve::run(*arguments).await,
        Command::Recover { path } => files::recover(&path),
        Command::Verify { path } => files::verify(&path),
        Command::Freeze { cassette, frozen } => frozen::freeze(&cassette, &frozen),
        Command::Thaw { frozen, cassette } => frozen::thaw(&frozen, &cassette),
        Command::Probe { frozen } => frozen::probe(&frozen),
    }
}
