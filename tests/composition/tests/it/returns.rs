//! What a test may return.

use std::error::Error;
use std::process::ExitCode;

use vcr_runtime::{CallError, Vcr, vcr_test};

use crate::support::{ask, ask_blocking, ask_in};

#[vcr_test]
async fn exit_code() -> ExitCode {
    match ask("exit code").await {
        Ok(text) if text == "you said exit code" => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

#[vcr_test]
fn plain_exit_code() -> ExitCode {
    match ask_blocking("plain exit code") {
        Ok(text) if text == "you said plain exit code" => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

#[vcr_test]
async fn own_error(vcr: Vcr) -> Result<(), CallError> {
    assert_eq!(ask_in(&vcr, "own").await?, "you said own");
    Ok(())
}

#[vcr_test]
async fn boxed_error() -> Result<(), Box<dyn Error>> {
    assert_eq!(ask("boxed").await?, "you said boxed");
    "7".parse::<u32>()?;
    Ok(())
}

#[vcr_test]
async fn anyhow_error(vcr: &Vcr) -> anyhow::Result<()> {
    use anyhow::Context as _;
    let answer = ask_in(vcr, "anyhow").await.context("asking")?;
    anyhow::ensure!(answer == "you said anyhow", "it said {answer:?}");
    Ok(())
}

#[vcr_test]
fn plain_anyhow_error() -> anyhow::Result<()> {
    assert_eq!(ask_blocking("plain")?, "you said plain");
    Ok(())
}

#[vcr_test]
async fn a_value_in_a_result() -> Result<ExitCode, CallError> {
    assert_eq!(ask("value").await?, "you said value");
    Ok(ExitCode::SUCCESS)
}
