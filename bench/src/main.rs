//! `cargo run --release --manifest-path bench/Cargo.toml [ROW…]`: each budget of the project beside its floor.
//!
//! Machines are shared and noisy, so every row measures its floor in the same run and alternates with it; what counts is
//! the ratio of the medians. Rows: live, unary, stream, open, frozen, session, gateway, record, daemon, harness.
//! Without arguments all of them run. `daemon-memory` and `harness-memory` send a million requests, and run by name alone.

mod bare;
mod daemon;
mod frozen;
mod gateway;
mod harness;
mod inprocess;
mod live;
mod open;
mod record;
mod session;
mod table;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wants = |row: &str| wanted.is_empty() || wanted.iter().any(|name| name == row);
    table::head();
    if wants("live") {
        live::run();
    }
    if wants("unary") {
        inprocess::unary();
    }
    if wants("stream") {
        inprocess::stream();
    }
    if wants("open") {
        open::run();
    }
    if wants("frozen") {
        frozen::run();
    }
    if wants("session") {
        session::run();
    }
    if wants("gateway") {
        gateway::replay();
    }
    if wants("record") {
        record::run();
    }
    if wants("daemon") {
        daemon::run();
    }
    if wants("harness") {
        harness::run();
    }
    if wanted.iter().any(|name| name == "daemon-memory") {
        daemon::memory();
    }
    if wanted.iter().any(|name| name == "harness-memory") {
        harness::memory();
    }
}
