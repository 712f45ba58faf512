//! Records what the official SDKs ask of an upstream, and replays it to them. `tests/sdks/aimock.sh` starts it.
//!
//! `recorder ORIGIN ASKS CASES` opens recording sessions for the questions in the file `ASKS`, one for each group of
//! questions, language and layer, writes their addresses to the file `CASES`, prints `ready` and serves. At the first line
//! of its input it saves the recordings, opens replaying sessions in their place and says so in the same way, with the note
//! of each call; at the end of the input it asks those for their verdict. Whatever a session or the library's own check of a
//! cassette complains of is printed, and is a failure.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken set-up has to fail the run"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use serde_json::{Value, json};
use vcr_runtime::{IncludeRaw, Mode, Vcr};
use vcr_tests::rig::Rig;

/// Python's and Node's, each with sessions of its own: they do not ask in the same words.
const LANGUAGES: usize = 2;
/// What replaying answers with, and the setting that the recording is made with for that.
const LAYERS: [(&str, IncludeRaw); 2] = [("raw", IncludeRaw::Always), ("frames", IncludeRaw::Never)];

/// One cassette: a group of questions, asked by one language, kept in one way.
struct Tape {
    group: String,
    language: usize,
    layer: usize,
    rig: Rig,
}

impl Tape {
    fn name(&self) -> String {
        format!("{} {} {}", self.group, LAYERS[self.layer].0, self.language)
    }

    fn open(&self, mode: Mode) -> Vcr {
        let builder = self.rig.builder(mode).include_raw(LAYERS[self.layer].1);
        builder
            .open()
            .unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [origin, asks, file] = arguments.as_slice() else {
        panic!("usage: recorder ORIGIN ASKS CASES");
    };
    let asks: Vec<Value> =
        serde_json::from_slice(&std::fs::read(asks).expect("the questions")).expect("a list");
    let tapes = tapes(&asks);

    let recording: Vec<Vcr> = tapes.iter().map(|tape| tape.open(Mode::Record)).collect();
    let mut cases = addressed(&asks, &tapes, &recording, "recorded ", origin);
    for case in &mut cases {
        let base = format!("{origin}{}", word(case, "base"));
        case["live"] = json!(vec![base; LANGUAGES]);
        case["layers"].as_array_mut().unwrap().insert(0, "live".into());
    }
    serve(file, &cases, Until::Line).await;
    let mut complaints = finish(&tapes, recording).await;
    complaints.extend(tapes.iter().flat_map(unproven));

    let replaying: Vec<Vcr> = tapes.iter().map(|tape| tape.open(Mode::Replay)).collect();
    // Nothing listens at port 1: what is replayed comes from nowhere else.
    let mut cases = addressed(&asks, &tapes, &replaying, "", "http://127.0.0.1:1");
    for tape in &tapes {
        note(tape, &mut cases);
    }
    serve(file, &cases, Until::End).await;
    complaints.extend(finish(&tapes, replaying).await);
    let mut out = std::io::stdout();
    for complaint in &complaints {
        writeln!(out, "{complaint}").unwrap();
    }
    std::process::exit(i32::from(!complaints.is_empty()));
}

fn tapes(asks: &[Value]) -> Vec<Tape> {
    let mut groups: Vec<String> = asks.iter().map(|ask| word(ask, "group").to_owned()).collect();
    groups.dedup();
    let mut tapes = Vec::new();
    for group in groups {
        for language in 0..LANGUAGES {
            for layer in 0..LAYERS.len() {
                tapes.push(Tape {
                    group: group.clone(),
                    language,
                    layer,
                    rig: Rig::new(),
                });
            }
        }
    }
    tapes
}

/// The questions with the address of each layer, one a language.
fn addressed(asks: &[Value], tapes: &[Tape], sessions: &[Vcr], prefix: &str, origin: &str) -> Vec<Value> {
    let mut bases = BTreeMap::new();
    let mut cases = Vec::new();
    for ask in asks {
        let mut case = ask.clone();
        let mut names = Vec::new();
        for (layer, (name, _)) in LAYERS.iter().enumerate() {
            let mut addresses = Vec::new();
            for (index, tape) in tapes.iter().enumerate() {
                if tape.group == word(ask, "group") && tape.layer == layer {
                    let upstream = format!("{origin}{}", word(ask, "base"));
                    let base = bases.entry(index).or_insert_with(|| {
                        sessions[index]
                            .base_url_for(&upstream)
                            .unwrap_or_else(|error| panic!("{upstream}: {error}"))
                    });
                    addresses.push(base.clone());
                }
            }
            names.push(format!("{prefix}{name}"));
            case[format!("{prefix}{name}")] = json!(addresses);
        }
        case["layers"] = json!(names);
        cases.push(case);
    }
    cases
}

/// What the recording says of itself, with each of its questions; they were asked in the order of the file.
fn note(tape: &Tape, cases: &mut [Value]) {
    let own: Vec<&mut Value> = cases
        .iter_mut()
        .filter(|case| word(case, "group") == tape.group)
        .collect();
    let calls = tape.rig.cassette().calls();
    assert_eq!(calls.len(), own.len(), "{}: one call a question", tape.name());
    let name = format!("{} notes", LAYERS[tape.layer].0);
    for (case, call) in own.into_iter().zip(calls) {
        if tape.language == 0 {
            case[&name] = json!([]);
        }
        case[&name].as_array_mut().unwrap().push(call.0["note"].clone());
    }
}

#[derive(Clone, Copy)]
enum Until {
    Line,
    End,
}

/// Says where to ask, and waits until everything has been asked.
async fn serve(file: &str, cases: &[Value], until: Until) {
    std::fs::write(file, serde_json::to_vec(cases).unwrap()).expect("the list of cases");
    let mut out = std::io::stdout();
    writeln!(out, "ready").unwrap();
    out.flush().unwrap();
    let waiting = tokio::task::spawn_blocking(move || match until {
        Until::Line => std::io::stdin()
            .lock()
            .read_line(&mut String::new())
            .map(|read| assert!(read > 0)),
        Until::End => std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map(drop),
    });
    waiting.await.unwrap().expect("the input");
}

/// What each session complains of at its end.
async fn finish(tapes: &[Tape], sessions: Vec<Vcr>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (tape, vcr) in tapes.iter().zip(sessions) {
        if let Err(error) = vcr.finish().await {
            complaints.push(format!("{}: {error}", tape.name()));
        }
    }
    complaints
}

/// The layers of a cassette against each other, and whether they are those that were asked for.
fn unproven(tape: &Tape) -> Vec<String> {
    let name = tape.name();
    let differences = vcr_runtime::verify(tape.rig.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut complaints: Vec<String> = differences
        .iter()
        .map(|difference| format!("{name}: {difference}"))
        .collect();
    let raw = LAYERS[tape.layer].1 == IncludeRaw::Always;
    for call in tape.rig.cassette().calls() {
        if call.has_raw() != raw {
            complaints.push(format!("{name}: not kept as asked: {}", call.prompt()));
        }
    }
    complaints
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {value}"))
}
