use crate::json::Json;
use crate::protocol::paths::Path;

/// What must hold for a table to be applied.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// The value at the path is one of these; or, denied, none of them.
    Is {
        path: Path,
        values: Vec<Json>,
        denied: bool,
    },
    /// Something other than `null` stands at the path.
    Present { path: Path, wanted: bool },
    /// The `event:` name is one of these.
    Event(Vec<String>),
}

impl Condition {
    pub(super) fn holds(&self, event: Option<&str>, value: &Json) -> bool {
        match self {
            Self::Is { path, values, denied } => {
                let found = path.get(value);
                let is_one = found.is_some_and(|found| values.iter().any(|wanted| same(wanted, found)));
                is_one != *denied
            }
            Self::Present { path, wanted } => {
                path.get(value).is_some_and(|found| !found.is_null()) == *wanted
            }
            Self::Event(names) => event.is_some_and(|event| names.iter().any(|name| name == event)),
        }
    }
}

/// Numbers by value.
fn same(wanted: &Json, found: &Json) -> bool {
    match (wanted.as_f64(), found.as_f64()) {
        (Some(wanted), Some(found)) => wanted.to_bits() == found.to_bits(),
        _ => wanted == found,
    }
}
