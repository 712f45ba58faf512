use std::sync::LazyLock;

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::openai_chat::error;
#[cfg(test)]
use crate::protocol::request_body::state;
use crate::protocol::request_body::{parameters, posted};
use crate::protocol::rules::{Reader, Rules};
use crate::protocol::usage_slot::Counts;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire, WireEvent};

/// The name in cassettes.
pub(in crate::protocol) const NAME: &str = "openai-embeddings";
const PROVIDER: &str = "openai";
const PATH: &str = "/embeddings";
/// Stands for the list of embeddings in a template.
const DATA: &str = "$data";

const COUNTS: Counts = Counts {
    prompt: "prompt_tokens",
    completion: None,
    total: "total_tokens",
};

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

/// Embeddings: `POST …/embeddings`, always answered by one body. Each embedding is a frame of its own, so that a cassette
/// has one line for each vector; the template is the body without them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAiEmbeddings;

impl Wire for OpenAiEmbeddings {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self) -> &'static str {
        PATH
    }

    /// The input stays a parameter: texts to be embedded are no messages. So are `encoding_format` and `dimensions`,
    /// which decide what the vectors look like and therefore which recorded answer fits.
    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
        let body = posted(http, PATH)?;
        body.get("input")?;
        let mut model = String::new();
        let parameters = parameters(body, |name, value| match (name, value) {
            ("model", Json::String(text)) => {
                model = text;
                None
            }
            (_, value) => Some(value),
        });
        if model.is_empty() {
            model = deployment(http.path).unwrap_or_default();
        }
        Some(CanonicalRequest {
            protocol: NAME.to_owned(),
            model,
            provider: PROVIDER.to_owned(),
            messages: Vec::new(),
            parameters,
        })
    }

    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json {
        let mut body = Object::new();
        body.push("model", request.model.as_str());
        state(&request.parameters, &mut body);
        Json::Object(body)
    }

    fn framing(&self, _: Option<&str>) -> Option<Framing> {
        None
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(NoStream)
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        let mut reader = Reader::new(&RULES);
        let reading = reader.body(status, body, out);
        let mut template = body.clone();
        let mut odd = reading.odd;
        match template.as_object_mut() {
            Some(members) if matches!(members.get("data"), Some(Json::Array(_))) => {
                members.set("data", DATA);
                COUNTS.take(members);
            }
            _ if reader.has_failed() => {}
            _ => odd = odd.or_else(|| Some("the body has no data".to_owned())),
        }
        Tail {
            template: Some(template),
            complete: true,
            odd,
        }
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        let is_list = |body: &Json| body.get("data").and_then(Json::as_str) == Some(DATA);
        let mut body = match (answer.template, answer.boundary) {
            (Some(body), _) if is_list(body) => body.clone(),
            (Some(body), Some(boundary)) => return error::with_message(body.clone(), boundary),
            (Some(body), None) => return body.clone(),
            (None, Some(boundary)) => return error::write(boundary),
            (None, None) => usual_body(answer),
        };
        if let Some(members) = body.as_object_mut() {
            let vectors = answer.frames.iter().filter_map(|frame| frame.native.clone());
            members.set("data", vectors.collect::<Vec<_>>());
            COUNTS.fill(members, answer.usage);
        }
        body
    }

    fn render_stream(&self, _: &Answer<'_>) -> Vec<(usize, Json)> {
        Vec::new()
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        out.extend(["data: ", payload, "\n\n"]);
    }

    fn trailer(&self, _: Option<&Json>) -> &'static str {
        ""
    }

    fn stream_content_type(&self) -> &'static str {
        "application/json"
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        Json::Array(payloads.to_vec())
    }
}

/// There is no streamed answer to read.
#[derive(Debug)]
struct NoStream;

impl Decoder for NoStream {
    fn event(&mut self, _: &WireEvent, _: &mut Vec<Event>) {}

    fn finish(&mut self) -> Tail {
        Tail {
            odd: Some("embeddings are not streamed".to_owned()),
            ..Tail::default()
        }
    }
}

/// The body that `OpenAI` would send, without its embeddings.
fn usual_body(answer: &Answer<'_>) -> Json {
    let mut body = Object::new();
    body.push("object", "list");
    body.push("data", DATA);
    body.push("model", answer.model);
    // Typed clients refuse a body without counts.
    let usage = answer.usage.cloned().unwrap_or_default();
    body.push("usage", COUNTS.write(&usage));
    Json::Object(body)
}

/// The model of Azure's paths, `/openai/deployments/<deployment>/embeddings`.
fn deployment(path: &str) -> Option<String> {
    let (_, rest) = path.strip_suffix("/embeddings")?.rsplit_once("/deployments/")?;
    (!rest.is_empty() && !rest.contains('/')).then(|| rest.to_owned())
}
