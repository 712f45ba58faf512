//! Which file belongs to a scenario: scenario and invoker to a name, the directory, and who else uses it.

mod names;
mod place;
mod registry;
mod resolve;

pub(crate) use place::{Place, is_same_test};
pub(crate) use registry::Registry;
pub(crate) use resolve::Identity;
