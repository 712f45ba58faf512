//! `cargo run --release --manifest-path bench/Cargo.toml [ROW…]`: each budget of the project beside its floor.
//!
//! Machines are shared and noisy, so every row measures its floor in the same run and alternates with it; what counts is
//! the ratio of the medians. Rows: live, unary, stream, open, gateway, record. Without arguments all of them run.

mod bare;
mod gateway;
mod inprocess;
mod live;
mod open;
mod record;
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
    if wants("gateway") {
        gateway::replay();
    }
    if wants("record") {
        record::run();
    }
}
