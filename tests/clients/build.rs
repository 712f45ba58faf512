//! Hands the README's async-openai example to `tests/readme.rs`, so that it is compiled where that crate is.

use std::path::Path;
use std::{env, fs};

fn main() {
    let readme = "../../README.md";
    println!("cargo::rerun-if-changed={readme}");
    let text = fs::read_to_string(readme).expect("the README is readable");
    let block = text
        .split("```rust,ignore\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains("async_openai"))
        .expect("the README has an example with async_openai");
    let target = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&target).join("readme.rs"), block).expect("OUT_DIR is writable");
}
