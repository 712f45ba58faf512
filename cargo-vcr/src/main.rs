//! `cargo vcr`: recordings of language models, outside of `cargo test`.

mod args;
mod export;
mod files;
mod frozen;
mod help;
mod locale;
mod out;
mod serve;
mod words;

use std::process::ExitCode;

use args::{Cargo, Command};
use clap::{CommandFactory as _, FromArgMatches as _};
use words::Words;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // cargo runs `cargo-vcr vcr serve`; by hand people write `cargo-vcr serve`.
    let mut line: Vec<_> = std::env::args_os().collect();
    if line.get(1).is_none_or(|word| word != "vcr") {
        line.insert(1.min(line.len()), "vcr".into());
    }
    let words = match locale::choose(&line) {
        Ok(words) => words,
        Err(why) => {
            out::fault(&format!("cargo vcr: {why}"));
            // As for any other argument that cannot be meant.
            return ExitCode::from(2);
        }
    };
    let matches = help::translated(Cargo::command(), &words).try_get_matches_from(line);
    match matches.and_then(|matches| Cargo::from_arg_matches(&matches)) {
        Ok(Cargo::Vcr(arguments)) => run(arguments.command, &words).await,
        Err(error) => help::conclude(&error, &words),
    }
}

async fn run(command: Command, words: &Words) -> ExitCode {
    match command {
        Command::Serve(arguments) => serve::run(*arguments, words).await,
        Command::Recover { path } => files::recover(&path, words),
        Command::Verify { path } => files::verify(&path, words),
        Command::Freeze { cassette, frozen } => frozen::freeze(&cassette, &frozen, words),
        Command::Thaw { frozen, cassette } => frozen::thaw(&frozen, &cassette, words),
        Command::Export { cassette, file, .. } => export::session(&cassette, &file, words),
        Command::Probe { frozen } => frozen::probe(&frozen, words),
    }
}
