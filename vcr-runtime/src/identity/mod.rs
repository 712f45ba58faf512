//! Which file belongs to a scenario: scenario and invoker to a name, the directory, and who else uses it.

#[cfg(feature = "daemon")]
mod below;
mod names;
mod place;
mod registry;
mod resolve;

#[cfg(feature = "daemon")]
pub(crate) use below::below;
pub(crate) use place::{Place, is_same_test};
pub(crate) use registry::Registry;
pub(crate) use resolve::Identity;
