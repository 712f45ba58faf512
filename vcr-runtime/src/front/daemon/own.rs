//! The daemon's own paths: what is under way, its end, and metrics.

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};

use crate::error::ErrorKind;
use crate::front::gateway::{Answer, Fault};
use crate::json::{Json, Object};

use super::control::Control;
use super::desk::Desk;
use super::fault::refusal;
use super::scenes::Ended;
use super::terms::names_one;

const FINISH: &str = "/__vcr/finish";
const STATUS: &str = "/__vcr/status";
const METRICS: &str = "/metrics";

/// Whether a path is the daemon's own.
pub(super) fn is_own(path: &str, has_metrics: bool) -> bool {
    path.starts_with("/__vcr/") || (has_metrics && path == METRICS)
}

/// Answers for such a path.
pub(super) async fn answer(desk: &Desk, head: &Parts, body: Bytes) -> Result<Answer, Fault> {
    match (&head.method, head.uri.path()) {
        (&Method::POST, FINISH) => finish(desk, head, body).await,
        (&Method::GET, STATUS) => Ok(status(desk)),
        (&Method::GET, METRICS) => Ok(Answer {
            status: StatusCode::OK,
            headers: vec![(
                "content-type".to_owned(),
                "text/plain; version=0.0.4; charset=utf-8".to_owned(),
            )],
            body: desk
                .metrics
                .as_ref()
                .map_or_else(String::new, |render| render())
                .into(),
        }),
        (_, FINISH | STATUS | METRICS) => Err(Fault::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "vcr_method",
            format!("{FINISH} wants POST, {STATUS} wants GET"),
        )),
        (_, path) => Err(Fault::new(
            StatusCode::NOT_FOUND,
            "vcr_unknown_path",
            format!("there is no {path}; there are {FINISH} and {STATUS}"),
        )),
    }
}

/// Ends the scenario that the control members name, or all of them, and says what came of it.
async fn finish(desk: &Desk, head: &Parts, body: Bytes) -> Result<Answer, Fault> {
    let is_json = !body.is_empty();
    let control = Control::read(&head.headers, body, is_json)?;
    let asked = desk.terms.of(&control.members).map_err(|error| refusal(&error))?;
    let place = names_one(&control.members).then_some(asked.place.as_path());
    let ended = desk.scenes.end(place).await;
    let failed = ended.iter().find_map(|ended| ended.failure.as_ref());
    let mut document = match failed {
        None => Object::new(),
        // The first failure stands where clients look for errors.
        Some(error) => {
            let mut fault = refusal(error);
            if matches!(error.kind(), ErrorKind::Miss) {
                fault.code = "vcr_verdict";
            }
            match crate::protocol::refusal(fault.code, &fault.message) {
                Json::Object(document) => document,
                _ => Object::new(),
            }
        }
    };
    document.push("finished", ended.iter().map(told).collect::<Vec<Json>>());
    let status = if failed.is_some() {
        StatusCode::CONFLICT
    } else {
        StatusCode::OK
    };
    let mut answer = Answer::json(status, &Json::Object(document));
    if failed.is_some() {
        answer
            .headers
            .push(("x-should-retry".to_owned(), "false".to_owned()));
    }
    Ok(answer)
}

fn told(ended: &Ended) -> Json {
    let Ended {
        cassette,
        mode,
        report,
        failure,
    } = ended;
    let mut document = Object::new();
    document.push("cassette", cassette.display().to_string());
    document.push("mode", mode.to_string());
    document.push("replayed", report.replayed as u64);
    document.push("recorded", report.recorded as u64);
    document.push("unused", report.unused as u64);
    let paths = |paths: &[std::path::PathBuf]| -> Vec<Json> {
        paths
            .iter()
            .map(|path| path.display().to_string().into())
            .collect()
    };
    document.push("written", paths(&report.written));
    document.push("set_aside", paths(&report.set_aside));
    let notes: Vec<Json> = report.notes.iter().map(|note| note.as_str().into()).collect();
    document.push("notes", notes);
    document.push(
        "failure",
        failure
            .as_ref()
            .map_or(Json::Null, |error| error.to_string().into()),
    );
    Json::Object(document)
}

fn status(desk: &Desk) -> Answer {
    let open: Vec<Json> = desk
        .scenes
        .list()
        .into_iter()
        .map(|(cassette, mode, calls)| {
            let mut document = Object::new();
            document.push("cassette", cassette.display().to_string());
            document.push("mode", mode.to_string());
            document.push("calls_under_way", calls as u64);
            Json::Object(document)
        })
        .collect();
    let mut document = Object::new();
    document.push("version", env!("CARGO_PKG_VERSION"));
    document.push("fixtures", desk.terms.fixtures.display().to_string());
    document.push("upstream", desk.routes.fixed().map_or(Json::Null, Json::from));
    document.push("scenarios", open);
    Answer::json(StatusCode::OK, &Json::Object(document))
}
