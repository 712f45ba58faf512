//! Which requests a harness lets in.

use http::StatusCode;
use http::request::Parts;

use super::answers::{NOT_POST, UNKNOWN_PATH};
use super::config::Protocol;
use crate::front::gateway::{Fault, interface as interface_of};
use crate::json::Json;
use crate::observe;
use crate::protocol::{HttpRequest, recognise};

const CHAT: &str = "/v1/chat/completions";

/// How a request that was let in is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The name that cassettes store.
    pub(super) protocol_id: &'static str,
    /// The protocol's name in this library, where it is one of ours.
    pub(super) wire: Option<&'static str>,
    /// It asks for a stream.
    pub(super) stream: bool,
}

/// What logs and metrics are told of a request.
pub(super) fn interface(protocol: Protocol, path: &str) -> observe::Asked {
    match protocol {
        // Its one door needs no search.
        Protocol::OpenAiChatCompletions if path == CHAT => observe::Asked {
            protocol: "openai-chat",
            route: "/chat/completions",
        },
        _ => interface_of(path),
    }
}

/// Tells of a request that is refused before anything is looked up for it.
pub(super) fn rejected(protocol: Protocol, path: &str, fault: Fault) -> Fault {
    observe::rejected(interface(protocol, path), fault.code);
    fault
}

/// Looks at a request before its body is read.
pub(super) fn admit(protocol: Protocol, head: &Parts) -> Result<(), Fault> {
    let path = head.uri.path();
    if protocol == Protocol::OpenAiChatCompletions && path != CHAT {
        let message = format!("there is nothing at {path}");
        return Err(Fault::new(StatusCode::NOT_FOUND, UNKNOWN_PATH, message));
    }
    if head.method != http::Method::POST {
        let message = format!("{path} is asked with POST");
        return Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, NOT_POST, message));
    }
    Ok(())
}

/// What a request asks for; `body` is its body as JSON.
///
/// # Errors
/// It is of no protocol that is known.
pub(super) fn read(protocol: Protocol, head: &Parts, bytes: &[u8], body: &Json) -> Result<Asked, Fault> {
    if protocol == Protocol::OpenAiChatCompletions {
        return Ok(Asked {
            protocol_id: "openai.chat_completions.v1",
            wire: Some("openai-chat"),
            // The word, and not its text.
            stream: body.get("stream").and_then(Json::as_bool) == Some(true),
        });
    }
    let request = HttpRequest {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        body: bytes,
    };
    let Some((wire, request)) = recognise(&request) else {
        let message = format!("{} is of no protocol that is known here", head.uri.path());
        return Err(Fault::new(StatusCode::NOT_FOUND, UNKNOWN_PATH, message));
    };
    let name = wire.name();
    Ok(Asked {
        protocol_id: if name == "openai-chat" {
            "openai.chat_completions.v1"
        } else {
            name
        },
        wire: Some(name),
        stream: request.stream(),
    })
}
