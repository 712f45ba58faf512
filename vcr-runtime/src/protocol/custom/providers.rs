use std::sync::{Mutex, PoisonError};

use crate::config::{ProjectFile, ProviderTable};
use crate::error::Result;
use crate::model::CanonicalRequest;
use crate::model::PLAIN;
use crate::protocol::openai_chat;
use crate::protocol::openai_embeddings::NAME as EMBEDDINGS;
use crate::protocol::{HttpRequest, Wire, find, recognise};

use super::table::{self, Dialect};
use super::wire::CustomWire;

/// Names that cassettes have for other things.
const RESERVED: [&str; 3] = [PLAIN, COMPLETION, "intercept"];
const COMPLETION: &str = "completion";

/// The wires that a project knows: the built-in ones and its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Providers(Vec<&'static CustomWire>);

impl Providers {
    /// Those of a project.
    ///
    /// # Errors
    /// `Config`, naming file, line and key.
    pub(crate) fn of(project: &ProjectFile) -> Result<Self> {
        let wires = project.providers.iter().map(|(name, table)| wire(name, table));
        Ok(Self(wires.collect::<Result<_>>()?))
    }

    /// The wire that cassettes call `name`.
    pub(crate) fn find(&self, name: &str) -> Option<&'static dyn Wire> {
        let own = self.0.iter().find(|wire| wire.name == name);
        own.map_or_else(|| find(name), |wire| Some(*wire))
    }

    /// A request in the form in which requests of different protocols are compared.
    pub(crate) fn neutral(&self, request: &CanonicalRequest) -> Option<CanonicalRequest> {
        // Completions in process have the shape of chat completions.
        let name = if request.protocol == COMPLETION {
            openai_chat::NAME
        } else {
            &request.protocol
        };
        self.find(name)?.neutral(request)
    }

    /// Whether answers in a protocol are completions, made of text, reasoning and tool calls. The answers of others (plain
    /// HTTP, intercepted calls, embeddings) are documents.
    pub(crate) fn completes(&self, protocol: &str) -> bool {
        protocol == COMPLETION || (protocol != EMBEDDINGS && self.find(protocol).is_some())
    }

    /// Whose request it is that goes to the upstream `base`.
    pub(crate) fn recognise(
        &self,
        base: &str,
        http: &HttpRequest<'_>,
    ) -> Option<(&'static dyn Wire, CanonicalRequest)> {
        let mine = self
            .0
            .iter()
            .filter(|wire| wire.base_url.eq_ignore_ascii_case(base));
        let own = mine.copied().find_map(|wire| {
            let request = wire.request(http)?;
            Some((wire as &'static dyn Wire, request))
        });
        own.or_else(|| recognise(http))
    }
}

/// The wire of a definition. Equal definitions share one, as wires live as long as the process.
fn wire(name: &str, table: &ProviderTable) -> Result<&'static CustomWire> {
    static KNOWN: Mutex<Vec<(String, ProviderTable, &'static CustomWire)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let same = known
        .iter()
        .find(|(other, definition, _)| other == name && definition == table);
    if let Some((_, _, wire)) = same {
        return Ok(wire);
    }
    if find(name).is_some() || RESERVED.contains(&name) {
        return Err(table::error(
            &table.file,
            table.line,
            format!("the provider `{name}` has the name of a built-in protocol"),
            "choose another name: cassettes store it as their protocol",
        ));
    }
    let made: &'static CustomWire = Box::leak(Box::new(make(name, table)?));
    known.push((name.to_owned(), table.clone(), made));
    Ok(made)
}

fn make(name: &str, table: &ProviderTable) -> Result<CustomWire> {
    let dialect = Dialect::of(table)?;
    let rules = Box::leak(Box::new(dialect.rules));
    let end_marker: &'static str = dialect.end.leak();
    let trailer: &'static str = match end_marker {
        "" => "",
        end => format!("data: {end}\n\n").leak(),
    };
    Ok(CustomWire {
        name: name.to_owned().leak(),
        base_url: table.base_url.clone(),
        path: table.path.clone().unwrap_or_else(|| openai_chat::PATH.to_owned()),
        rules,
        event: dialect.event,
        body: dialect.body,
        trailer,
        end_marker,
    })
}
