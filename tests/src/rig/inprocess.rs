use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use vcr_runtime::{Client, CompletionStream, Delta, Failure, Frame, Reply, Request, ToolCall, Usage, Vcr};

use crate::gate::Gate;

/// One thing that a scripted provider does in process.
#[derive(Clone, Debug)]
pub enum Say {
    /// A piece of text.
    Text(&'static str),
    /// A piece of reasoning.
    Reasoning(&'static str),
    /// A whole tool call: id, name, arguments.
    Tool(&'static str, &'static str, &'static str),
    /// The finish reason.
    Finish(&'static str),
    /// Prompt and completion tokens.
    Usage(u64, u64),
    /// An error with this message.
    Fail(&'static str),
    /// Goes on once the gate is open.
    Wait(Gate),
    /// Lets time of the caller's clock pass.
    Pause(Duration),
}

/// What a caller in process saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The text of each frame that has any.
    pub pieces: Vec<String>,
    /// All reasoning.
    pub reasoning: String,
    /// Id, name, arguments.
    pub tools: Vec<(String, String, String)>,
    /// The last finish reason.
    pub finish: Option<String>,
    /// Prompt and completion tokens.
    pub usage: Option<(u64, u64)>,
    /// The error that ended it.
    pub error: Option<String>,
}

impl Seen {
    /// All text.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.concat()
    }
}

/// A session's client in process, whose provider answers by script.
#[derive(Debug)]
pub struct InProcess {
    client: Client,
    count: Arc<AtomicUsize>,
}

impl InProcess {
    /// A client of `vcr` whose provider answers each call with the next script, and fails once they are used up.
    #[must_use]
    pub fn new(vcr: &Vcr, scripts: impl IntoIterator<Item = Vec<Say>>) -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let scripts = Mutex::new(scripts.into_iter().collect::<VecDeque<_>>());
        let client = vcr.client({
            let count = Arc::clone(&count);
            move |_: Request| {
                count.fetch_add(1, Ordering::SeqCst);
                let script = scripts.lock().unwrap().pop_front();
                async move {
                    let script = script
                        .ok_or_else(|| Failure::new("ScriptOver", "the provider has no script left"))?;
                    Ok(Reply::stream(Script {
                        rest: script.into(),
                        waiting: None,
                        tools: 0,
                    }))
                }
            }
        });
        Self { client, count }
    }

    /// How many calls reached the provider.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Asks for a stream and reads it to its end.
    pub async fn stream(&self, prompt: &str) -> Seen {
        self.send(request(prompt)).await
    }

    /// The same with any request.
    pub async fn send(&self, request: Request) -> Seen {
        match self.client.completion_stream(request).await {
            Ok(stream) => {
                Open {
                    stream,
                    ready: VecDeque::new(),
                }
                .rest()
                .await
            }
            Err(error) => Seen {
                error: Some(error.to_string()),
                ..Seen::default()
            },
        }
    }

    /// Asks for a stream and leaves the reading to the test.
    ///
    /// # Panics
    /// When the call fails at once.
    pub async fn open(&self, prompt: &str) -> Open {
        let stream = self
            .client
            .completion_stream(request(prompt))
            .await
            .expect("a stream");
        Open {
            stream,
            ready: VecDeque::new(),
        }
    }

    /// Asks for a whole answer.
    pub async fn unary(&self, prompt: &str) -> Seen {
        match self.client.completion(request(prompt)).await {
            Ok(answer) => {
                let mut seen = Seen {
                    pieces: vec![answer.text.clone()],
                    reasoning: answer.reasoning.clone().unwrap_or_default(),
                    finish: answer.finish_reason.clone(),
                    usage: answer
                        .usage
                        .as_ref()
                        .map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
                    ..Seen::default()
                };
                seen.take_tools(&answer.tool_calls);
                seen
            }
            Err(error) => Seen {
                error: Some(error.to_string()),
                ..Seen::default()
            },
        }
    }
}

fn request(prompt: &str) -> Request {
    Request::new("openai/gpt-4o-mini").user(prompt)
}

/// A stream that the test reads by itself.
#[derive(Debug)]
pub struct Open {
    stream: CompletionStream,
    ready: VecDeque<Frame>,
}

impl Open {
    /// The next piece of text; empty at the end.
    ///
    /// # Errors
    /// The text of the error that ended it.
    pub async fn piece(&mut self) -> Result<String, String> {
        loop {
            match self.stream.next().await {
                None => return Ok(String::new()),
                Some(Err(error)) => return Err(error.to_string()),
                Some(Ok(frame)) if frame.chunk.is_empty() => self.ready.push_back(frame),
                Some(Ok(frame)) => {
                    let text = frame.chunk.clone();
                    self.ready.push_back(frame);
                    return Ok(text);
                }
            }
        }
    }

    /// Reads to the end; what was read before counts too.
    pub async fn rest(mut self) -> Seen {
        let mut seen = Seen::default();
        for frame in std::mem::take(&mut self.ready) {
            seen.take(&frame);
        }
        while let Some(step) = self.stream.next().await {
            match step {
                Ok(frame) => seen.take(&frame),
                Err(error) => seen.error = Some(error.to_string()),
            }
        }
        seen.usage = self
            .stream
            .usage()
            .map(|usage| (usage.prompt_tokens, usage.completion_tokens));
        seen
    }
}

impl Seen {
    fn take(&mut self, frame: &Frame) {
        if !frame.chunk.is_empty() {
            self.pieces.push(frame.chunk.clone());
        }
        self.reasoning
            .push_str(frame.reasoning.as_deref().unwrap_or_default());
        self.take_tools(&frame.tool_calls);
        if frame.finish_reason.is_some() {
            self.finish.clone_from(&frame.finish_reason);
        }
    }

    fn take_tools(&mut self, calls: &[ToolCall]) {
        let calls = calls.iter().map(|call| {
            (
                call.id.clone(),
                call.function.name.clone(),
                call.function.arguments.clone(),
            )
        });
        self.tools.extend(calls);
    }
}

/// Plays a script as a stream of deltas.
struct Script {
    rest: VecDeque<Say>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    tools: u32,
}

impl Stream for Script {
    type Item = Result<Delta, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                std::task::ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            let delta = match self.rest.pop_front() {
                None => return Poll::Ready(None),
                Some(Say::Wait(gate)) => {
                    self.waiting = Some(Box::pin(async move { gate.passed().await }));
                    continue;
                }
                Some(Say::Pause(time)) => {
                    self.waiting = Some(Box::pin(tokio::time::sleep(time)));
                    continue;
                }
                Some(Say::Fail(message)) => {
                    self.rest.clear();
                    return Poll::Ready(Some(Err(Failure::new("ScriptedFailure", message))));
                }
                Some(Say::Text(text)) => Delta::text(text),
                Some(Say::Reasoning(text)) => Delta::reasoning(text),
                Some(Say::Tool(id, name, arguments)) => {
                    self.tools += 1;
                    Delta::tool_call(self.tools - 1, id, name, arguments)
                }
                Some(Say::Finish(reason)) => Delta::finish(reason),
                Some(Say::Usage(prompt, completion)) => Delta::usage(Usage::new(prompt, completion)),
            };
            return Poll::Ready(Some(Ok(delta)));
        }
    }
}
