//! The gateway through real sockets, with scripted upstreams and a fake session. Blocking on purpose: it must be served
//! from outside the test's thread and runtime.

mod lifetime;
mod record;
mod replay;
mod rules;
mod support;
