//! Which models there are: what clients ask for with `GET /v1/models`.

use std::time::Duration;

use super::exchange::{Pace, Playback, PlaybackBody, Upstream};
use super::session::Session;
use crate::config::{Catalogue, Mode, Model, Provider, Settings};
use crate::json::{Json, Object, compact};
use crate::model::HttpHead;
use crate::protocol::{self, HttpRequest};

/// Which models a request asks for: all, or one by its id. `None`: it asks for something else. Bases of clients end in
/// front of `/v1`, or behind it.
pub(crate) fn wanted(method: &str, path: &str) -> Option<Option<String>> {
    if method != "GET" {
        return None;
    }
    let path = path.strip_prefix("/v1").unwrap_or(path);
    match path.strip_prefix("/models")? {
        "" | "/" => Some(None),
        // Ids have slashes, which clients escape or not.
        one => one
            .strip_prefix('/')
            .map(|id| Some(id.replace("%2F", "/").replace("%2f", "/"))),
    }
}

/// A model as OpenAI's clients read it. `created` is in seconds since 1970.
pub(crate) fn document(id: &str, created: u64, owner: &str) -> Object {
    let mut document = Object::new();
    document.push("id", id);
    document.push("object", "model");
    document.push("created", created);
    document.push("owned_by", owner);
    document
}

/// A list of such models.
pub(crate) fn list(models: Vec<Json>) -> Json {
    let mut list = Object::new();
    list.push("object", "list");
    list.push("data", models);
    Json::Object(list)
}

impl Session {
    /// The answer to a request for models, where the session has a catalogue of them and its answers come from no
    /// recording of HTTP, which would have its own answer.
    pub(super) fn listing(
        &self,
        upstream: &Upstream,
        request: &HttpRequest<'_>,
        settings: &Settings,
    ) -> Option<Playback> {
        let catalogue = &self.project().catalogue;
        let replays = settings.effective_mode() == Mode::Replay && settings.source.is_some();
        if catalogue.providers.is_empty() || !replays || self.has_ended() {
            return None;
        }
        let wanted = wanted(request.method, request.path)?;
        let (status, body) = answer(catalogue, &upstream.provider, wanted.as_deref());
        let content_type = ("content-type".to_owned(), "application/json".to_owned());
        Some(Playback {
            head: HttpHead {
                status,
                headers: vec![content_type],
            },
            body: PlaybackBody::Whole(Duration::ZERO, compact(&body).into_bytes().into()),
            abort: false,
            hang: None,
            end: Duration::ZERO,
            pace: Pace::new(0.0, Vec::new()),
        })
    }
}

const ANTHROPIC: &str = "anthropic";

/// The models of the provider that is asked, where the catalogue knows it, else of all.
fn answer(catalogue: &Catalogue, asked: &str, wanted: Option<&str>) -> (u16, Json) {
    let is_known = catalogue.providers.iter().any(|provider| provider.id == asked);
    let providers = catalogue.providers.iter();
    let models = providers
        .filter(|provider| !is_known || provider.id == asked)
        .flat_map(|provider| provider.models.iter().map(move |model| (provider, model)));
    let is_anthropic = asked == ANTHROPIC;
    let shown = |(provider, model): (&Provider, &Model)| match is_anthropic {
        true => by_anthropic(model),
        false => by_openai(provider, model),
    };
    let Some(id) = wanted else {
        let ids: Vec<&str> = models.clone().map(|(_, model)| model.id.as_str()).collect();
        let data: Vec<Json> = models.map(shown).collect();
        return match is_anthropic {
            true => (200, page(data, &ids)),
            false => (200, list(data)),
        };
    };
    match models.into_iter().find(|(_, model)| model.id == id) {
        Some(found) => (200, shown(found)),
        None => {
            let message = format!(
                "the catalogue in vcr.toml has no model `{}`",
                id.chars().take(100).collect::<String>().escape_debug()
            );
            (404, refusal(is_anthropic, &message))
        }
    }
}

fn refusal(is_anthropic: bool, message: &str) -> Json {
    let code = match is_anthropic {
        true => "not_found_error",
        false => "model_not_found",
    };
    let name = if is_anthropic { ANTHROPIC } else { "openai-chat" };
    match protocol::find(name) {
        Some(wire) => wire.refusal(404, code, message),
        None => protocol::refusal(code, message),
    }
}

/// With all that the catalogue knows behind what the API has itself.
fn by_openai(provider: &Provider, model: &Model) -> Json {
    let mut document = document(&model.id, 0, &provider.id);
    document.push("name", model.name.as_str());
    let mut number = |name: &str, number: Option<u64>| {
        if let Some(number) = number {
            document.push(name, number);
        }
    };
    number("context_window", model.context_window);
    number("default_max_tokens", model.default_max_tokens);
    number("image_request_tokens", model.image_request_tokens);
    let texts = |texts: &mut dyn Iterator<Item = &str>| texts.map(Json::from).collect::<Vec<_>>();
    let modalities = &mut model.input_modalities.iter().map(|modality| modality.name());
    document.push("input_modalities", texts(modalities));
    if !model.reasoning_efforts.is_empty() {
        let efforts = &mut model.reasoning_efforts.iter().map(String::as_str);
        document.push("reasoning_efforts", texts(efforts));
    }
    if let Some(effort) = &model.default_reasoning_effort {
        document.push("default_reasoning_effort", effort.as_str());
    }
    Json::Object(document)
}

fn by_anthropic(model: &Model) -> Json {
    let mut document = Object::new();
    document.push("type", "model");
    document.push("id", model.id.as_str());
    document.push("display_name", model.name.as_str());
    document.push("created_at", "1970-01-01T00:00:00Z");
    Json::Object(document)
}

fn page(data: Vec<Json>, ids: &[&str]) -> Json {
    let end = |id: Option<&&str>| id.map_or(Json::Null, |id| Json::from(*id));
    let mut page = Object::new();
    page.push("data", data);
    page.push("has_more", false);
    page.push("first_id", end(ids.first()));
    page.push("last_id", end(ids.last()));
    Json::Object(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_list_and_one_of_it_are_asked_for() {
        for (path, expected) in [
            ("/v1/models", Some(None)),
            ("/models", Some(None)),
            ("/models/", Some(None)),
            ("/v1/models/a%2Fb", Some(Some("a/b".to_owned()))),
            ("/v1/models/a/b", Some(Some("a/b".to_owned()))),
            ("/v1/modelsx", None),
            ("/v1beta/models", None),
            ("/v1/chat/completions", None),
        ] {
            assert_eq!(wanted("GET", path), expected, "{path}");
        }
        assert_eq!(wanted("POST", "/v1/models"), None);
    }
}
