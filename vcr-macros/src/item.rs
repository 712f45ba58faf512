//! The function below the attribute: a light parse that never looks into the body, and what may not stand there.

use crate::args::chunks;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, FnArg, Meta, Path, PathArguments, Safety, Signature, Type, Visibility};

/// A function whose body stays tokens, so that a half-typed one does not fail the macro.
pub(crate) struct Item {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig = input.parse().map_err(|error: Error| {
            Error::new(
                error.span(),
                format_args!("`#[vcr_test]` goes on a function: {error}"),
            )
        })?;
        match input.parse()? {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => Ok(Self {
                attrs,
                vis,
                sig,
                body,
            }),
            other => Err(Error::new(
                other.span(),
                "`#[vcr_test]` needs a function with a body",
            )),
        }
    }
}

/// How the function takes its session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handle {
    None,
    Owned,
    Borrowed,
}

/// What the checks found besides errors.
pub(crate) struct Checked {
    pub(crate) handle: Handle,
    /// Another attribute makes it a test already.
    pub(crate) is_test: bool,
    /// Whether a test can call it.
    pub(crate) callable: bool,
}

/// Checks the function, and takes away the attributes that would only fail again after they have been reported.
pub(crate) fn check(item: &mut Item, runtime: &[Ident], errors: &mut Vec<Error>) -> Checked {
    let foreign_arguments = attributes(item, errors);
    if item.sig.asyncness.is_none() {
        for key in runtime {
            let message = format!("`{key}` needs an `async fn`: a plain `fn` runs without a runtime");
            errors.push(Error::new_spanned(key, message));
        }
        other_runtime(item, errors);
    }
    let mut wrong = Vec::new();
    if !foreign_arguments {
        modifiers(&item.sig, &mut wrong);
    }
    let handle = if foreign_arguments {
        Handle::None
    } else {
        arguments(&item.sig, &mut wrong)
    };
    let callable = !foreign_arguments && wrong.is_empty();
    errors.append(&mut wrong);
    Checked {
        handle,
        is_test: item.attrs.iter().any(|attr| ends_with(attr.path(), "test")) || is_test_case(item),
        callable,
    }
}

fn ends_with(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// Whether test_case made this function. For a plain `fn` it puts `#[test]` first, which has run and vanished by now:
/// another one would run the case twice.
fn is_test_case(item: &Item) -> bool {
    let marked = |attr: &Attribute| match &attr.meta {
        Meta::List(list) => {
            list.path.is_ident("allow") && list.tokens.to_string().ends_with("bool_assert_comparison")
        }
        Meta::Path(_) | Meta::NameValue(_) => false,
    };
    let body: String = item
        .body
        .stream()
        .into_iter()
        .take(5)
        .map(|token| token.to_string())
        .collect();
    item.sig.asyncness.is_none() && body == "let_result=super:" && item.attrs.iter().any(marked)
}

/// The function that was written, where rstest made this test of it for one of its `#[values]`: it allows the name's odd
/// letters, and its last step is to call that function.
pub(crate) fn made_of(item: &Item) -> Option<String> {
    let is_odd = |attr: &Attribute| match &attr.meta {
        Meta::List(list) => list.path.is_ident("allow") && list.tokens.to_string() == "non_snake_case",
        Meta::Path(_) | Meta::NameValue(_) => false,
    };
    let tokens: Vec<TokenTree> = item.body.stream().into_iter().collect();
    let call = match tokens.as_slice() {
        [call @ .., TokenTree::Punct(dot), TokenTree::Ident(word)]
            if dot.as_char() == '.' && word == "await" =>
        {
            call
        }
        call => call,
    };
    match call {
        [.., TokenTree::Ident(name), TokenTree::Group(arguments)]
            if arguments.delimiter() == Delimiter::Parenthesis && item.attrs.iter().any(is_odd) =>
        {
            Some(name.unraw().to_string())
        }
        _ => None,
    }
}

/// Whether the test is to panic, as an expression: a literal, or the conditions of the `cfg_attr`s that decide it.
///
/// Above the attribute the compiler has applied every `cfg_attr` by now; below it they are still as written.
pub(crate) fn should_panic(attrs: &[Attribute]) -> Option<TokenStream> {
    let conditions: Vec<TokenStream> = attrs.iter().filter_map(|attr| panics_if(&attr.meta)).collect();
    match conditions.as_slice() {
        [] => None,
        _ if conditions.iter().any(TokenStream::is_empty) => Some(quote!(true)),
        _ => Some(quote!(::core::cfg!(any(#(#conditions),*)))),
    }
}

/// The condition under which an attribute makes the test one that is to panic; empty for always.
fn panics_if(meta: &Meta) -> Option<TokenStream> {
    if meta.path().is_ident("should_panic") {
        return Some(TokenStream::new());
    }
    let Meta::List(list) = meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let mut parts = chunks(list.tokens.clone())
        .into_iter()
        .map(|part| part.into_iter().collect::<TokenStream>());
    let condition = parts.next()?;
    let inner: Vec<TokenStream> = parts
        .filter_map(|part| panics_if(&syn::parse2(part).ok()?))
        .collect();
    match inner.as_slice() {
        [] => None,
        _ if inner.iter().any(TokenStream::is_empty) => Some(condition),
        _ => Some(quote!(all(#condition, any(#(#inner),*)))),
    }
}

/// Test attributes that must stand elsewhere or not at all. Tells whether the arguments are for one of them.
fn attributes(item: &mut Item, errors: &mut Vec<Error>) -> bool {
    let mut foreign_arguments = false;
    item.attrs.retain(|attr| {
        let path = attr.path();
        let message = if let Some(name) = ["rstest", "test_case", "test_matrix"]
            .into_iter()
            .find(|name| ends_with(path, name))
        {
            foreign_arguments = true;
            format!(
                "put `#[{name}]` above `#[vcr_test]`: it makes the cases, and each case is a test of its own"
            )
        } else if is_ours(path) {
            "duplicate `#[vcr_test]`".to_owned()
        } else if let Some(name) = runtime_test(path) {
            format!(
                "`#[{name}]` and `#[vcr_test]` both start a runtime: {}",
                instead(attr)
            )
        } else {
            return true;
        };
        errors.push(Error::new_spanned(path, message));
        false
    });
    if foreign_arguments {
        // What only rstest understands.
        item.attrs.retain(|attr| {
            let first = attr.path().segments.first();
            first.is_none_or(|first| !["case", "timeout", "awt"].iter().any(|name| first.ident == name))
        });
    }
    foreign_arguments
}

fn is_ours(path: &Path) -> bool {
    let mut names = path.segments.iter().rev().map(|segment| &segment.ident);
    match (names.next(), names.next()) {
        (Some(last), _) if last == "vcr_test" => true,
        (Some(last), Some(owner)) => last == "test" && (owner == "vcr" || owner == "vcr_runtime"),
        _ => false,
    }
}

/// The name of a test attribute that brings a runtime.
fn runtime_test(path: &Path) -> Option<String> {
    let owner = &path.segments.first()?.ident;
    let known = ["tokio", "async_std", "actix_rt", "actix_web", "smol_potat"];
    (path.segments.len() == 2 && ends_with(path, "test") && known.iter().any(|name| owner == name))
        .then(|| format!("{owner}::test"))
}

/// What to write instead. tokio's arguments of the same name mean the same here.
fn instead(attr: &Attribute) -> String {
    const COMMON: [&str; 3] = ["flavor", "worker_threads", "start_paused"];
    let tokens = match &attr.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    };
    let kept: Vec<String> = chunks(tokens)
        .into_iter()
        .filter(|chunk| matches!(&chunk[0], TokenTree::Ident(key) if COMMON.iter().any(|name| key == name)))
        .map(|chunk| chunk.into_iter().collect::<TokenStream>().to_string())
        .collect();
    if kept.is_empty() {
        "remove it (several threads: `#[vcr_test(flavor = \"multi_thread\")]`)".to_owned()
    } else {
        format!("remove it and write `#[vcr_test({})]`", kept.join(", "))
    }
}

/// `#[tokio::test]` above has already run: the function is plain by now, and its body starts the other runtime.
fn other_runtime(item: &Item, errors: &mut Vec<Error>) {
    let Some(attr) = item.attrs.iter().find(|attr| ends_with(attr.path(), "test")) else {
        return;
    };
    let name = if mentions(item.body.stream(), "\"Failed building the Runtime\"") {
        "tokio::test"
    } else if item
        .body
        .stream()
        .to_string()
        .contains("async_std :: task :: block_on")
    {
        "async_std::test"
    } else {
        return;
    };
    let message = format!(
        "`#[{name}]` above `#[vcr_test]` has already turned the function into a plain one with a runtime of its own: \
         remove `#[{name}]` (several threads: `#[vcr_test(flavor = \"multi_thread\")]`)"
    );
    errors.push(Error::new_spanned(attr.path(), message));
}

fn mentions(tokens: TokenStream, literal: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), literal),
        TokenTree::Literal(found) => found.to_string() == literal,
        TokenTree::Ident(_) | TokenTree::Punct(_) => false,
    })
}

fn modifiers(sig: &Signature, errors: &mut Vec<Error>) {
    if let Some(token) = &sig.constness {
        errors.push(Error::new_spanned(token, "a test cannot be `const`"));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.push(Error::new_spanned(
            token,
            "a test cannot be `unsafe`; use a block inside",
        ));
    }
    if let Some(abi) = &sig.abi {
        errors.push(Error::new_spanned(abi, "a test cannot be `extern`"));
    }
    if !sig.generics.params.is_empty() {
        errors.push(Error::new_spanned(
            &sig.generics,
            "a test cannot be generic: nothing chooses its parameters",
        ));
    }
    if let Some(clause) = &sig.generics.where_clause {
        errors.push(Error::new_spanned(clause, "a test cannot have a `where` clause"));
    }
    if let Some(variadic) = &sig.variadic {
        errors.push(Error::new_spanned(variadic, "a test cannot be variadic"));
    }
}

fn arguments(sig: &Signature, errors: &mut Vec<Error>) -> Handle {
    let mut handle = Handle::None;
    for argument in &sig.inputs {
        let typed = match argument {
            FnArg::Receiver(receiver) => {
                errors.push(Error::new_spanned(
                    receiver,
                    "`#[vcr_test]` goes on a free function, without `self`",
                ));
                continue;
            }
            FnArg::Typed(typed) => typed,
        };
        let message = match (passing(&typed.ty), handle) {
            (Handle::None, _) => "a `#[vcr_test]` takes no argument, or one of type `Vcr` or `&Vcr`",
            (found, Handle::None) => {
                handle = found;
                continue;
            }
            _ => "one `Vcr` is enough: a `#[vcr_test]` has one session; clone the handle instead",
        };
        errors.push(Error::new_spanned(typed, message));
    }
    handle
}

/// Whether a type is `Vcr` or `&Vcr`, by its last path segment: the macro cannot see what a name stands for.
fn passing(ty: &Type) -> Handle {
    match ty {
        Type::Group(group) => passing(&group.elem),
        Type::Paren(paren) => passing(&paren.elem),
        Type::Reference(reference) if reference.mutability.is_none() && reference.lifetime.is_none() => {
            match passing(&reference.elem) {
                Handle::Owned => Handle::Borrowed,
                Handle::Borrowed | Handle::None => Handle::None,
            }
        }
        Type::Path(path) if path.qself.is_none() => match path.path.segments.last() {
            Some(last) if last.ident == "Vcr" && matches!(last.arguments, PathArguments::None) => {
                Handle::Owned
            }
            _ => Handle::None,
        },
        _ => Handle::None,
    }
}
