//! A loopback HTTP server for each test: it replays a cassette, or forwards and records.

mod backend;
mod connection;
mod encoding;
mod flushed;
mod forward;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod gateway;
mod headers;
mod patience;
mod pieces;
mod proxy;
mod respond;
mod route;
mod routed;
mod server;
mod tee;
#[cfg(test)]
mod tests;

#[cfg(any(feature = "daemon", feature = "harness"))]
pub(in crate::front) use backend::interface;
#[cfg(any(feature = "daemon", feature = "harness"))]
pub(in crate::front) use backend::{Answer, Backend, Decision, Fault, Outgoing};
#[cfg(feature = "harness")]
pub(in crate::front) use backend::{Limit, refused};
#[cfg(feature = "harness")]
pub(in crate::front) use encoding::Coding;
#[cfg(feature = "harness")]
pub(in crate::front) use forward::client_of;
pub(in crate::front) use forward::{plain_client, transport_fault};
pub(crate) use gateway::Gateway;
pub(in crate::front) use headers::is_hop_by_hop;
#[cfg(feature = "harness")]
pub(in crate::front) use headers::{as_pairs, named_by_connection};
pub(crate) use proxy::check_proxies;
#[cfg(feature = "harness")]
pub(in crate::front) use route::split_base;
pub(in crate::front) use route::{check_base, is_loopback};
#[cfg(any(feature = "daemon", feature = "harness"))]
pub(in crate::front) use server::Server;
