//! A caller, an upstream and a session, all scripted.

use std::future::Future;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::super::Gateway;
use crate::model::HttpHead;
use crate::protocol::HttpRequest;
use crate::session::{End, Exchange, HttpTurn, Pace, Playback, PlaybackBody, Recording, Upstream};

/// So that a fault fails a test instead of hanging it.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A request body that is longer than what a [`Wire`] reads at once.
pub(super) const LONG: &[u8] = &[b'x'; 64 << 10];

type Decide = dyn Fn(&Upstream, &HttpRequest<'_>, &[(String, String)]) -> HttpTurn + Send + Sync;

struct Session(Box<Decide>);

impl Exchange for Session {
    fn begin<'a>(
        &'a self,
        upstream: &'a Upstream,
        request: HttpRequest<'a>,
        headers: &'a [(String, String)],
        _: Option<std::sync::Arc<str>>,
    ) -> Pin<Box<dyn Future<Output = HttpTurn> + Send + 'a>> {
        Box::pin(async move { (self.0)(upstream, &request, headers) })
    }
}

/// A gateway whose session decides so. `/openai/v1` goes to nowhere.
pub(super) fn gateway(
    decide: impl Fn(&Upstream, &HttpRequest<'_>, &[(String, String)]) -> HttpTurn + Send + Sync + 'static,
) -> Gateway {
    let openai = Upstream {
        provider: "openai".to_owned(),
        base: "https://api.openai.invalid/v1".to_owned(),
    };
    let routes = vec![("openai/v1".to_owned(), openai)];
    Gateway::start(Arc::new(Session(Box::new(decide))), routes).unwrap()
}

/// A gateway that answers every request so.
pub(super) fn replaying(playback: impl Fn() -> Playback + Send + Sync + 'static) -> Gateway {
    gateway(move |_, _, _| HttpTurn::Replay(playback()))
}

pub(super) fn playback(headers: &[(&str, &str)], body: PlaybackBody, abort: bool) -> Playback {
    Playback {
        end: std::time::Duration::ZERO,
        head: HttpHead {
            status: 200,
            headers: pairs(headers),
        },
        body,
        abort,
        hang: None,
        pace: Pace::new(0.0, vec![]),
    }
}

pub(super) fn whole(body: impl Into<Vec<u8>>) -> PlaybackBody {
    PlaybackBody::Whole(Duration::ZERO, body.into().into())
}

pub(super) fn pieces(pieces: &[&[u8]]) -> PlaybackBody {
    PlaybackBody::Pieces(pieces.iter().map(|piece| (Duration::ZERO, *piece)).collect())
}

pub(super) fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// What a recording was told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Head(u16, Vec<(String, String)>),
    Bytes(Vec<u8>),
    End(End),
}

#[derive(Debug)]
struct Logged {
    told: mpsc::Sender<Told>,
    /// Bytes until the breaker cuts.
    left: usize,
}

impl Recording for Logged {
    fn head(&mut self, status: u16, headers: &[(String, String)]) {
        self.told.send(Told::Head(status, headers.to_vec())).unwrap();
    }

    fn bytes(&mut self, piece: &[u8]) -> ControlFlow<usize> {
        self.told.send(Told::Bytes(piece.to_vec())).unwrap();
        if piece.len() > self.left {
            return ControlFlow::Break(self.left);
        }
        self.left -= piece.len();
        ControlFlow::Continue(())
    }

    fn end(self: Box<Self>, end: End) {
        self.told.send(Told::End(end)).unwrap();
    }
}

/// What all recordings of a gateway were told, in order.
pub(super) struct Log(mpsc::Receiver<Told>);

impl Log {
    pub(super) fn next(&self) -> Told {
        self.0.recv_timeout(PATIENCE).unwrap()
    }

    /// The next piece, whatever was told before it but no end.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self.next() {
            Told::Head(..) => self.bytes(),
            Told::Bytes(bytes) => bytes,
            Told::End(end) => panic!("ended: {end:?}"),
        }
    }

    /// All bytes up to the end, and the end.
    pub(super) fn rest(&self) -> (Vec<u8>, End) {
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                Told::Head(..) => {}
                Told::Bytes(more) => bytes.extend(more),
                Told::End(end) => return (bytes, end),
            }
        }
    }

    /// Nothing more was told, and nothing more can be.
    pub(super) fn is_over(&self) -> bool {
        matches!(
            self.0.recv_timeout(PATIENCE),
            Err(mpsc::RecvTimeoutError::Disconnected)
        )
    }
}

/// A gateway that records every call, cutting after `cut` bytes, with one upstream at `/up/0`.
pub(super) fn recording(upstream: &Provider, cut: usize) -> (Gateway, Log) {
    let (told, log) = mpsc::channel();
    let gateway = gateway(move |_, _, _| {
        let told = told.clone();
        HttpTurn::Record(Box::new(Logged { told, left: cut }))
    });
    gateway.add_upstream(&upstream.base()).unwrap();
    (gateway, Log(log))
}

/// One end of a connection that speaks HTTP/1.1 by hand.
pub(super) struct Wire(BufReader<TcpStream>);

/// The first line and the headers of a message.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) line: String,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(other, _)| other == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} twice");
        value
    }
}

impl Wire {
    fn new(socket: TcpStream) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self(BufReader::new(socket))
    }

    pub(super) fn connect(addr: SocketAddr) -> Self {
        Self::new(TcpStream::connect(addr).unwrap())
    }

    /// A request with the right Host and the length of its body.
    pub(super) fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n",
            self.0.get_ref().peer_addr().unwrap(),
            body.len()
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.write(format!("{head}\r\n").as_bytes());
        self.write(body);
    }

    pub(super) fn get(&mut self, path: &str) {
        self.request("GET", path, &[], b"");
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Closes with a reset, as the kernel does while something received is unread: a [`LONG`] body, most of which no
    /// read of its head takes off the socket.
    pub(super) fn reset(self) {
        assert_eq!(self.0.get_ref().peek(&mut [0]).unwrap(), 1);
    }

    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    pub(super) fn chunk(&mut self, bytes: &[u8]) {
        self.write(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat());
    }

    pub(super) fn head(&mut self) -> Head {
        let line = self.line();
        let mut headers = Vec::new();
        loop {
            let header = self.line();
            let Some((name, value)) = header.split_once(':') else {
                assert_eq!(header, "");
                return Head { line, headers };
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert!(line.ends_with("\r\n"), "broke off at {line:?}");
        line.trim_end().to_owned()
    }

    pub(super) fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The body that a head with a length announces.
    pub(super) fn body(&mut self, head: &Head) -> Vec<u8> {
        self.exactly(head.get("content-length").unwrap().parse().unwrap())
    }

    pub(super) fn message(&mut self) -> (Head, Vec<u8>) {
        let head = self.head();
        let body = self.body(&head);
        (head, body)
    }

    /// The next chunk of a chunked body, empty for the last; `None` when the connection is closed instead.
    pub(super) fn next_chunk(&mut self) -> Option<Vec<u8>> {
        if self.is_closed() {
            return None;
        }
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let chunk = self.exactly(length);
        assert_eq!(self.line(), "");
        Some(chunk)
    }

    /// The chunks that are left, and whether the body was ended in order.
    pub(super) fn chunks(&mut self) -> (Vec<Vec<u8>>, bool) {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.next_chunk() {
            if chunk.is_empty() {
                return (chunks, true);
            }
            chunks.push(chunk);
        }
        (chunks, false)
    }

    /// Waits for the next byte or the end.
    pub(super) fn is_closed(&mut self) -> bool {
        self.0.fill_buf().unwrap().is_empty()
    }
}

/// An upstream, played by the test.
pub(super) struct Provider(TcpListener);

impl Provider {
    pub(super) fn start() -> Self {
        Self(TcpListener::bind(("127.0.0.1", 0)).unwrap())
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}/v1", self.0.local_addr().unwrap())
    }

    /// The next connection. The gateway connects when it forwards a call.
    pub(super) fn accept(&self) -> Wire {
        Wire::new(self.0.accept().unwrap().0)
    }

    /// Accepts a call, reads it and begins a chunked answer.
    pub(super) fn stream(&self) -> Wire {
        let mut wire = self.accept();
        wire.message();
        wire.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        wire
    }
}
