//! A loopback HTTP server for each test: it replays a cassette, or forwards and records.

mod connection;
mod encoding;
mod flushed;
mod forward;
mod headers;
mod pieces;
mod proxy;
mod respond;
mod route;
mod server;
mod tee;
#[cfg(test)]
mod tests;

pub(crate) use proxy::check_proxies;
pub(crate) use server::Gateway;
