//! A plain HTTP/1.1 client that shows what really came over the wire: every chunk as it arrives, and how the body ended.

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Posts `body` as JSON.
///
/// # Panics
/// When there is no well-formed answer; see [`send`].
pub async fn post(url: &str, body: &str) -> Response {
    request(
        "POST",
        url,
        &[("content-type", "application/json")],
        body.as_bytes(),
    )
    .await
}

/// Sends a request and reads the head of the answer.
///
/// # Panics
/// When there is no well-formed answer; see [`send`].
pub async fn request(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    send(method, url, headers, body)
        .await
        .unwrap_or_else(|error| panic!("{method} {url} got no answer: {error}"))
}

/// Sends a request on a connection of its own.
///
/// # Errors
/// When the connection cannot be made or breaks before the head is complete.
pub async fn send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<Response> {
    let rest = url.strip_prefix("http://").expect("an http url");
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let stream = TcpStream::connect(authority).await?;
    stream.set_nodelay(true)?;
    let mut head = format!("{method} /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut stream = BufReader::new(stream);
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    Response::read(stream).await
}

/// An answer whose body is read piece by piece.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Chunked,
    Counted(usize),
    UntilClose,
    Over,
}

/// A body that was read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// One a transport chunk.
    pub pieces: Vec<Vec<u8>>,
    /// How it broke off, when it did not end as its framing prescribes.
    pub broken: Option<String>,
}

impl Whole {
    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// All bytes as text.
    ///
    /// # Panics
    /// When they are not UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).expect("a body in UTF-8")
    }
}

impl Response {
    async fn read(mut stream: BufReader<TcpStream>) -> std::io::Result<Self> {
        let start = line(&mut stream).await?;
        let status = start.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| broken(&format!("no status line but {start:?}")))?;
        let mut headers = Vec::new();
        loop {
            let header = line(&mut stream).await?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header
                .split_once(':')
                .ok_or_else(|| broken("a header without a colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let find = |name: &str| {
            headers
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, value)| value.as_str())
        };
        let body = match (find("transfer-encoding"), find("content-length")) {
            (Some(_), Some(_)) => return Err(broken("both a length and chunks")),
            (Some(_), None) => Body::Chunked,
            (None, Some(length)) => Body::Counted(length.parse().map_err(|_| broken("a length"))?),
            (None, None) => Body::UntilClose,
        };
        Ok(Self {
            status,
            headers,
            stream,
            body,
        })
    }

    /// The value of a header; its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The next transport chunk; `None` after an end in order.
    ///
    /// # Errors
    /// When the connection breaks before the end that the framing prescribes.
    pub async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        match self.body {
            Body::Over => Ok(None),
            Body::Chunked => self.next_chunk().await,
            Body::Counted(0) => {
                self.body = Body::Over;
                Ok(None)
            }
            Body::Counted(left) => {
                let mut piece = self.available().await?;
                if piece.is_empty() {
                    return Err(broken(&format!("{left} bytes are missing")));
                }
                piece.truncate(left);
                self.body = Body::Counted(left - piece.len());
                Ok(Some(piece))
            }
            Body::UntilClose => {
                let piece = self.available().await?;
                Ok((!piece.is_empty()).then_some(piece))
            }
        }
    }

    /// Everything that is left.
    pub async fn whole(mut self) -> Whole {
        let mut pieces = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(piece)) => pieces.push(piece),
                Ok(None) => return Whole { pieces, broken: None },
                Err(error) => {
                    return Whole {
                        pieces,
                        broken: Some(error.to_string()),
                    };
                }
            }
        }
    }

    /// Everything that is left, of a body that ended in order.
    ///
    /// # Panics
    /// When it did not, or is not UTF-8.
    pub async fn text(self) -> String {
        let whole = self.whole().await;
        assert_eq!(whole.broken, None, "the body broke off");
        whole.text()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it did not end in order, or is no JSON.
    pub async fn json(self) -> serde_json::Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Reads until the body so far contains `needle`, and returns it so far.
    ///
    /// # Panics
    /// When the body ends without it.
    pub async fn until(&mut self, needle: &str) -> Vec<u8> {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(needle) {
            match self.next().await {
                Ok(Some(piece)) => seen.extend(piece),
                other => panic!(
                    "{other:?} before {needle:?}, after {:?}",
                    String::from_utf8_lossy(&seen)
                ),
            }
        }
        seen
    }

    async fn next_chunk(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let size = line(&mut self.stream).await?;
        let size = usize::from_str_radix(&size, 16).map_err(|_| broken("a chunk without a size"))?;
        let mut piece = vec![0; size + 2];
        self.stream.read_exact(&mut piece).await?;
        if !piece.ends_with(b"\r\n") {
            return Err(broken("a chunk without its line end"));
        }
        piece.truncate(size);
        if size == 0 {
            self.body = Body::Over;
            return Ok(None);
        }
        Ok(Some(piece))
    }

    async fn available(&mut self) -> std::io::Result<Vec<u8>> {
        let piece = self.stream.fill_buf().await?.to_vec();
        self.stream.consume(piece.len());
        Ok(piece)
    }
}

async fn line(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(broken("the connection was closed"));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn broken(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what.to_owned())
}
