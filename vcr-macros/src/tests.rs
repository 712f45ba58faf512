//! The whole attribute on text: what it expands to, what it refuses and where.

mod errors;
mod expansion;
mod recovery;

use crate::Features;
use crate::expand::{Expansion, expand};

const ALL: Features = Features {
    multi_thread: true,
    paused_time: true,
};

fn run(args: &str, item: &str, features: Features) -> Expansion {
    expand(args.parse().unwrap(), item.parse().unwrap(), features)
}

fn pretty(expansion: Expansion) -> String {
    prettyplease::unparse(&syn::parse2(expansion.into_tokens()).unwrap())
}
