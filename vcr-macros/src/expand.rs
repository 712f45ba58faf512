//! Arguments and item in, test out.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Error, FnArg};

use crate::Features;
use crate::args::{self, Args};
use crate::item::{self, Checked, Handle, Item};

/// What the attribute leaves behind: an item in every case, and all that is wrong.
pub(crate) struct Expansion {
    pub(crate) item: TokenStream,
    pub(crate) errors: Vec<Error>,
}

impl Expansion {
    pub(crate) fn into_tokens(self) -> TokenStream {
        let mut tokens = self.item;
        tokens.extend(self.errors.iter().map(Error::to_compile_error));
        tokens
    }
}

/// Expands one `#[vcr_test(args)] item`.
///
/// The item survives every mistake: with it an editor still completes and checks the body, and the compiler reports
/// nothing that merely follows from the mistake.
pub(crate) fn expand(arguments: TokenStream, tokens: TokenStream, features: Features) -> Expansion {
    let mut errors = Vec::new();
    let mut args = args::read(arguments, features, &mut errors);
    let mut item = match syn::parse2::<Item>(tokens.clone()) {
        Ok(item) => item,
        Err(error) => {
            errors.push(error);
            return Expansion { item: tokens, errors };
        }
    };
    let checked = item::check(&mut item, &args.runtime, &mut errors);
    if !errors.is_empty() {
        args.fields.clear();
    }
    let item = if checked.callable {
        test(&item, &checked, &args)
    } else {
        untouched(item)
    };
    Expansion { item, errors }
}

/// The function itself, for editors: no test can call it.
fn untouched(mut item: Item) -> TokenStream {
    item.attrs.retain(|attr| {
        attr.path()
            .segments
            .last()
            .is_none_or(|last| last.ident != "test")
    });
    for input in &mut item.sig.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.clear();
        }
    }
    let Item {
        attrs,
        vis,
        sig,
        body,
    } = item;
    quote!(#(#attrs)* #[allow(dead_code)] #vis #sig #body)
}

/// The function re-declared unchanged inside a plain test, and one call into the runtime.
///
/// Only the user's own tokens carry the user's places: an editor would otherwise take the glue for a meaning of the
/// body. The future is boxed here, so that the runtime is compiled once and not once a test.
fn test(item: &Item, checked: &Checked, args: &Args) -> TokenStream {
    let Item {
        attrs,
        vis,
        sig,
        body,
    } = item;
    let (name, output) = (&sig.ident, &sig.output);
    let is_test = (!checked.is_test).then(|| quote!(#[::core::prelude::v1::test]));
    let private = match &args.krate {
        Some(path) => quote!(#path::__private),
        None => quote!(::vcr_runtime::__private),
    };
    let spec = spec(&private, item, args);
    let call = body_of(&private, item, checked.handle);
    quote! {
        #(#attrs)*
        #is_test
        #vis fn #name() #output {
            #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
            #sig #body
            #private::run(#spec, #call)
        }
    }
}

fn spec(private: &TokenStream, item: &Item, args: &Args) -> TokenStream {
    let function = item.sig.ident.unraw().to_string();
    let asynchronous = item.sig.asyncness.is_some();
    let should_panic = item::should_panic(&item.attrs).map(|when| quote!(should_panic: #when,));
    let made_of =
        item::made_of(item).map(|function| quote!(made_of: ::core::option::Option::Some(#function),));
    let fields = args.fields.iter().map(|(name, value)| {
        let name = Ident::new(name, Span::call_site());
        quote!(#name: #value,)
    });
    quote! {
        const {
            &#private::Spec {
                package: ::core::env!("CARGO_PKG_NAME"),
                manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                module: ::core::module_path!(),
                function: #function,
                file: ::core::file!(),
                line: ::core::line!(),
                asynchronous: #asynchronous,
                #should_panic
                #made_of
                #(#fields)*
                ..#private::Spec::DEFAULT
            }
        }
    }
}

fn body_of(private: &TokenStream, item: &Item, handle: Handle) -> TokenStream {
    let name = item.sig.ident.to_token_stream();
    if item.sig.asyncness.is_none() {
        return match handle {
            Handle::None => quote!(#private::Body::Sync(|_| #name())),
            Handle::Owned => quote!(#private::Body::Sync(|__vcr| #name(__vcr))),
            Handle::Borrowed => quote!(#private::Body::Sync(|__vcr| #name(&__vcr))),
        };
    }
    match handle {
        Handle::None => quote!(#private::Body::Async(|_| ::std::boxed::Box::pin(#name()))),
        Handle::Owned => quote!(#private::Body::Async(|__vcr| ::std::boxed::Box::pin(#name(__vcr)))),
        Handle::Borrowed => {
            quote!(#private::Body::Async(|__vcr| ::std::boxed::Box::pin(async move { #name(&__vcr).await })))
        }
    }
}
