//! `/v1/models`: the models that the recordings know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use http::StatusCode;

use crate::cassette::{Cassette, Chosen};
use crate::front::gateway::{Answer, Fault};
use crate::json::Json;
use crate::session::{model_document, model_list};

/// A model that some cassette answers for.
#[derive(Debug, PartialEq, Eq)]
struct Model {
    provider: String,
    /// When its cassette was written, in seconds since 1970.
    created: u64,
}

/// Answers from the cassettes at `place`: one file, or all of a directory. Reads files, so not for a server's own thread.
pub(super) fn answer(place: &Path, wanted: Option<&str>) -> Result<Answer, Fault> {
    let models = recorded(place);
    let Some(id) = wanted else {
        let data: Vec<Json> = models.iter().map(|(id, model)| document(id, model)).collect();
        return Ok(Answer::json(StatusCode::OK, &model_list(data)));
    };
    match models.get(id) {
        Some(model) => Ok(Answer::json(StatusCode::OK, &document(id, model))),
        None => Err(Fault::new(
            StatusCode::NOT_FOUND,
            "model_not_found",
            format!(
                "no recording in {} knows the model `{}`",
                place.display(),
                id.escape_debug()
            ),
        )),
    }
}

fn document(id: &str, model: &Model) -> Json {
    Json::Object(model_document(id, model.created, &model.provider))
}

fn recorded(place: &Path) -> BTreeMap<String, Model> {
    let mut models = BTreeMap::new();
    for path in files(place) {
        // What is no cassette, or a broken one, knows no models; whoever replays it is told.
        let Ok(cassette) = Cassette::open(&path, Chosen::Latest) else {
            continue;
        };
        let written = path.metadata().and_then(|data| data.modified()).ok();
        let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let created = since.map_or(0, |since| since.as_secs());
        for call in cassette.take.calls {
            let provider = call.request.provider.clone().unwrap_or_default();
            if let Some(id) = call.request.model.clone().filter(|model| !model.is_empty()) {
                models.entry(id).or_insert(Model { provider, created });
            }
        }
    }
    models
}

fn files(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = place.read_dir() else {
        return vec![place.to_owned()];
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_of_all_readable_cassettes_are_listed() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        let cassette = |model: &str, provider: &str| {
            format!(
                r#"{{"scenario":"s","latest_trace_id":"t","history_keys":["t"],"traces":{{"t":{{"trace_id":"t",
                "request_context":{{"model":"{model}","provider":"{provider}","messages":[]}},
                "response_timeline":[{{"delta_ms":0,"chunk":"x"}}],"exception_boundary":{{"occurred":false}}}}}}}}"#
            )
        };
        write("b.json", &cassette("m-2", "groq"));
        write("a.json", &cassette("m-1", "openai"));
        write("broken.json", "{");
        write("notes.txt", "x");
        let models = recorded(directory.path());
        let seen: Vec<_> = models
            .iter()
            .map(|(id, model)| (id.as_str(), model.provider.as_str()))
            .collect();
        assert_eq!(seen, [("m-1", "openai"), ("m-2", "groq")]);
        assert!(models["m-1"].created > 0);
        let one = answer(directory.path(), Some("m-2")).unwrap();
        assert!(
            std::str::from_utf8(&one.body)
                .unwrap()
                .contains("\"owned_by\":\"groq\"")
        );
        assert_eq!(answer(directory.path(), Some("m-3")).unwrap_err().status, 404);
        assert_eq!(recorded(&directory.path().join("a.json")).len(), 1);
    }
}
