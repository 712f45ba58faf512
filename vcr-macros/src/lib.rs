//! The attribute of `vcr-runtime`. Use it through that crate.

mod args;
mod expand;
mod item;
mod names;
mod nearest;
#[cfg(test)]
mod tests;
mod value;

use proc_macro::TokenStream;

/// What vcr-runtime was built with.
#[derive(Clone, Copy)]
struct Features {
    multi_thread: bool,
    paused_time: bool,
}

const FEATURES: Features = Features {
    multi_thread: cfg!(feature = "multi-thread"),
    paused_time: cfg!(feature = "paused-time"),
};

/// docs
#[proc_macro_attribute]
pub fn vcr_test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(args.into(), item.into(), FEATURES)
        .into_tokens()
        .into()
}

/// `vcr_test` under the name that other test macros look for: rstest takes an attribute for a test attribute when its
/// last segment is `test`.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(args.into(), item.into(), FEATURES)
        .into_tokens()
        .into()
}
