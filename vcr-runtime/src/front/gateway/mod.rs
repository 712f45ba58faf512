//! A loopback HTTP server for each test: it replays a cassette, or forwards and records.

mod backend;
mod connection;
mod encoding;
mod flushed;
mod forward;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod gateway;
mod headers;
mod pieces;
mod proxy;
mod respond;
mod route;
mod routed;
mod server;
mod tee;
#[cfg(test)]
mod tests;

#[cfg(feature = "daemon")]
pub(in crate::front) use backend::{Answer, Backend, Decision, Fault, Outgoing};
pub(in crate::front) use forward::{plain_client, transport_fault};
pub(crate) use gateway::Gateway;
pub(in crate::front) use headers::is_hop_by_hop;
pub(crate) use proxy::check_proxies;
pub(in crate::front) use route::{check_base, is_loopback};
#[cfg(feature = "daemon")]
pub(in crate::front) use server::Server;
