//! A loopback server for programs in any language: requests say themselves what to record and what to replay.

mod config;
mod control;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod daemon;
mod desk;
mod fault;
mod models;
mod own;
mod routes;
mod scenes;
mod terms;
#[cfg(test)]
mod tests;

pub use config::{DaemonConfig, RenderMetrics};
pub use daemon::{RunningDaemon, start_daemon};
pub use scenes::Ended;
