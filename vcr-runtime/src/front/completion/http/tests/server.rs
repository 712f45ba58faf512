//! A provider on loopback that says what it is told.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::front::completion::http::HttpUpstream;
use crate::{Client, Mode, Vcr};

pub(super) struct Server {
    pub(super) base: String,
    pub(super) seen: UnboundedReceiver<Seen>,
}

/// A request as it arrived.
pub(super) struct Seen {
    /// Request line and headers, in lower case but for the values.
    pub(super) head: String,
    pub(super) body: String,
}

/// An answer; what follows the head in it is sent in odd pieces.
#[derive(Clone, Default)]
pub(super) struct Said {
    status: u16,
    content_type: &'static str,
    body: String,
    /// Whether the connection stays open without a word after the body.
    silent: bool,
}

pub(super) fn said(status: u16, content_type: &'static str, body: impl Into<String>) -> Said {
    Said {
        status,
        content_type,
        body: body.into(),
        silent: false,
    }
}

pub(super) fn json(body: &str) -> Said {
    said(200, "application/json", body)
}

pub(super) fn events(payloads: &[&str]) -> Said {
    let body: String = payloads
        .iter()
        .map(|payload| format!("data: {payload}\n\n"))
        .collect();
    said(200, "text/event-stream", body)
}

impl Said {
    pub(super) fn then_silence(mut self) -> Self {
        self.silent = true;
        self
    }
}

/// Answers one connection after the other; `None` reads the request and says nothing.
pub(super) fn serve(answers: Vec<Option<Said>>) -> Server {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sender, seen) = unbounded_channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for answer in answers {
            let mut socket = listener.accept().unwrap().0;
            let request = read(&mut socket);
            if let Some(answer) = &answer {
                write(&mut socket, answer);
            }
            // The test may have ended already.
            let _ = sender.send(request);
            if answer.is_none_or(|answer| answer.silent) {
                open.push(socket);
            }
        }
        // Whoever is kept waiting leaves when its test is over.
        for mut socket in open {
            let _ = socket.read(&mut [0]);
        }
    });
    Server { base, seen }
}

fn write(socket: &mut TcpStream, answer: &Said) {
    let head = format!(
        "HTTP/1.1 {} x\r\ncontent-type: {}\r\nconnection: close\r\n\r\n",
        answer.status, answer.content_type
    );
    socket.write_all(head.as_bytes()).unwrap();
    for piece in answer.body.as_bytes().chunks(7) {
        socket.write_all(piece).unwrap();
        socket.flush().unwrap();
    }
}

fn read(socket: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Seen {
                    head: head.to_owned(),
                    body: body.to_owned(),
                };
            }
        }
        let count = socket.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the request broke off: {text}");
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// An upstream whose keys are made up.
pub(super) fn upstream(provider: &str, base: &str) -> HttpUpstream {
    let upstream = HttpUpstream::new().base_url(provider, base).unwrap();
    upstream.keys(|name| Some(format!("the {name}")))
}

/// A client that passes through.
pub(super) fn live(upstream: HttpUpstream) -> Client {
    let vcr = Vcr::builder().mode(Mode::Live).open().unwrap();
    vcr.client(upstream)
}
