//! A model that fits a page: it speaks chat completions over HTTP, thinks for a while, asks for a tool, and streams.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

const THINKS: Duration = Duration::from_millis(120);
const BETWEEN_CHUNKS: Duration = Duration::from_millis(30);

/// A running upstream.
pub(crate) struct Upstream {
    pub(crate) url: String,
    server: JoinHandle<()>,
}

impl Upstream {
    pub(crate) async fn stop(self) {
        self.server.abort();
        let _ = self.server.await;
    }
}

pub(crate) async fn start() -> io::Result<Upstream> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    let server = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let _ = answer(socket).await;
        }
    });
    Ok(Upstream { url, server })
}

/// Answers the one request of a connection.
async fn answer(socket: TcpStream) -> io::Result<()> {
    let mut socket = BufReader::new(socket);
    let request = read_request(&mut socket).await?;
    sleep(THINKS).await;
    let kind = if request["stream"] == true {
        "text/event-stream"
    } else {
        "application/json"
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    if request["stream"] == true {
        for chunk in chunks() {
            socket.write_all(format!("data: {chunk}\n\n").as_bytes()).await?;
            socket.flush().await?;
            sleep(BETWEEN_CHUNKS).await;
        }
        socket.write_all(b"data: [DONE]\n\n").await?;
    } else {
        socket.write_all(wants_tool().to_string().as_bytes()).await?;
    }
    socket.shutdown().await
}

async fn read_request(socket: &mut BufReader<TcpStream>) -> io::Result<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}

/// The first turn: a tool call, in one piece.
fn wants_tool() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "weather-model",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null,
            "tool_calls": [{ "id": "call_1", "type": "function",
                "function": { "name": "get_forecast", "arguments": "{\"city\":\"Oslo\"}" } }],
        } }],
        "usage": { "prompt_tokens": 61, "completion_tokens": 14, "total_tokens": 75 },
    })
}

/// The second turn: a sentence, word by word.
fn chunks() -> impl Iterator<Item = Value> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "chatcmpl-2", "object": "chat.completion.chunk", "created": 1_700_000_001, "model": "weather-model",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    "It is a clear day in Oslo, at four degrees below zero."
        .split_inclusive(' ')
        .map(move |word| chunk(json!({ "content": word }), None))
        .chain([chunk(json!({}), Some("stop"))])
}
