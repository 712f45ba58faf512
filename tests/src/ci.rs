//! Tests of the modes that `CI` turns into `replay`.

use std::process::Command;

/// Whether the variable `CI` is not set. Where it is, runs `test` of this binary in a process without it and fails as
/// that does: the environment is read once, before main.
#[must_use = "the test has run in the other process"]
pub fn is_unset(test: &str) -> bool {
    if std::env::var_os("CI").is_none() {
        return true;
    }
    let binary = std::env::current_exe().unwrap();
    let output = Command::new(binary)
        .args(["--exact", test])
        .env_remove("CI")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}
