//! The agent itself: it knows nothing of recordings.

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use tokio::task::AbortHandle;
use vcr_runtime::Vcr;

use crate::door::{Door, Model, Said, Tool, Turn};

/// What one run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// A line for each call of the parent, with those of the helpers where it waited for them.
    pub(crate) transcript: String,
    /// Every body that came over the wire, in the same order.
    pub(crate) wire: String,
}

/// One agent at work.
struct Agent {
    name: &'static str,
    model: Model,
    turns: Vec<Turn>,
    told: Told,
}

impl Agent {
    fn new(name: &'static str, model: Model, task: String) -> Self {
        Self {
            name,
            model,
            turns: vec![Turn::User(task)],
            told: Told::default(),
        }
    }

    fn tell(&mut self, line: &str) {
        self.told.transcript += &format!("{}: {line}\n", self.name);
    }

    /// Asks, and asks again when the provider wants to be left alone for a while.
    async fn step(&mut self) -> (String, Vec<Tool>) {
        loop {
            match self.model.ask(&self.turns, None).await {
                Said::Later(why) => self.tell(&format!("refused, {why}")),
                Said::Answer {
                    text,
                    tools,
                    usage,
                    wire,
                } => {
                    let calls = tools
                        .iter()
                        .map(|tool| format!("[{} {}]", tool.name, tool.arguments));
                    let usage = usage.map(|(prompt, completion)| format!("({prompt}/{completion})"));
                    let said = (!text.is_empty()).then(|| text.clone());
                    let line: Vec<String> = said.into_iter().chain(calls).chain(usage).collect();
                    self.tell(&line.join(" "));
                    self.told.wire += &wire;
                    let (said, asked) = (text.clone(), tools.clone());
                    self.turns.push(Turn::Model { text, tools });
                    return (said, asked);
                }
            }
        }
    }
}

/// Does what it is told with the tools that it has, and says what came of it.
async fn helper(name: &'static str, model: Model, task: String) -> (String, Told) {
    let mut agent = Agent::new(name, model, task);
    loop {
        let (text, tools) = agent.step().await;
        if tools.is_empty() {
            return (text, agent.told);
        }
        let results = tools.iter().map(|tool| {
            assert_eq!(tool.name, "add");
            let number = |name: &str| tool.arguments[name].as_u64().unwrap();
            (tool.id.clone(), format!("result {}", number("a") + number("b")))
        });
        let results = results.collect();
        agent.turns.push(Turn::Results(results));
    }
}

/// Somebody outside: waits until the model is known to hang, and ends the call. A file is all that it sees.
fn cancel_once_ready(
    ready: PathBuf,
    heard: mpsc::Receiver<()>,
    call: AbortHandle,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        heard.recv().unwrap();
        while !ready.exists() {
            std::thread::yield_now();
        }
        call.abort();
    })
}

/// One call that does not come back by itself.
async fn cancelled(agent: &mut Agent, ready: &Path) {
    let (pieces, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let (model, turns) = (agent.model.clone(), agent.turns.clone());
    let call = tokio::spawn(async move { model.ask(&turns, Some(pieces)).await });
    let (tell, told) = mpsc::channel();
    let outside = cancel_once_ready(ready.to_owned(), told, call.abort_handle());
    let mut text = String::new();
    while !text.contains("partial") {
        text += &heard.recv().await.expect("the call ended by itself");
    }
    tell.send(()).unwrap();
    assert!(call.await.unwrap_err().is_cancelled());
    outside.join().unwrap();
    assert_eq!(std::fs::read(ready).unwrap(), b"");
    agent.tell("cancelled behind \"partial\"");
}

/// Runs the agent. The keys are another run's in every run; what is told has names in their place.
pub(crate) async fn run(vcr: &Vcr, door: Door, http: &reqwest::Client, number: u32) -> Told {
    let directory = tempfile::tempdir().unwrap();
    let ready = directory.path().join("ready");
    let keys = ["parent", "child-1", "child-2"]
        .map(|name| format!("live-{:08x}-{name}", number.wrapping_mul(0x9E37_79B9)));
    let model = |slot: usize| Model::new(vcr, &keys[slot], door, http);
    let task = format!("Add 2 and 3 with two helpers. ready file: {}", ready.display());
    let mut parent = Agent::new("parent", model(0), task);
    let (_, spawned) = parent.step().await;
    let started = spawned.iter().zip(&keys[1..]);
    let started = started.map(|(tool, key)| (tool.id.clone(), format!("started subagent {key}")));
    parent.turns.push(Turn::Results(started.collect()));
    let (_, waits) = parent.step().await;
    // They run at the same time, and which of them calls first is another one's turn each time.
    let goal = |slot: usize| spawned[slot].arguments["goal"].to_string();
    let start = |slot: usize| tokio::spawn(helper(["child-1", "child-2"][slot], model(slot + 1), goal(slot)));
    let helpers = match number % 2 {
        0 => (start(0), start(1)),
        _ => {
            let second = start(1);
            (start(0), second)
        }
    };
    let (first, second) = (helpers.0.await.unwrap(), helpers.1.await.unwrap());
    let results = format!("{}; {}", first.0, second.0);
    for told in [first.1, second.1] {
        parent.told.transcript += &told.transcript;
        parent.told.wire += &told.wire;
    }
    parent
        .turns
        .push(Turn::Results(vec![(waits[0].id.clone(), results)]));
    cancelled(&mut parent, &ready).await;
    parent.step().await;
    let named = |text: &str| {
        let names = ["<parent>", "<child-1>", "<child-2>"];
        keys.iter()
            .zip(names)
            .fold(text.to_owned(), |text, (key, name)| text.replace(key, name))
    };
    Told {
        transcript: named(&parent.told.transcript),
        wire: named(&parent.told.wire),
    }
}
