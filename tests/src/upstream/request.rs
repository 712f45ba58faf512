use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Such as `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Without `?`.
    pub query: String,
    /// In the order of arrival, names as sent.
    pub headers: Vec<(String, String)>,
    /// After transfer decoding.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The text of the last message, the usual key of scripted answers.
    #[must_use]
    pub fn prompt(&self) -> String {
        let body = self.json();
        let last = body["messages"].as_array().and_then(|messages| messages.last());
        last.and_then(|message| message["content"].as_str())
            .unwrap_or_default()
            .to_owned()
    }

    /// Reads one request; `None` when the connection ends before it.
    pub(super) async fn read(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Self> {
        let start = line(input).await?;
        let mut words = start.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            ..Self::default()
        };
        loop {
            let header = line(input).await?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':')?;
            request.headers.push((name.to_owned(), value.trim().to_owned()));
        }
        request.body = request.read_body(input).await?;
        Some(request)
    }

    async fn read_body(&self, input: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        if let Some(length) = self.header("content-length") {
            body.resize(length.parse().ok()?, 0);
            input.read_exact(&mut body).await.ok()?;
        } else if self.header("transfer-encoding").is_some() {
            loop {
                let size = usize::from_str_radix(line(input).await?.split(';').next()?, 16).ok()?;
                let mut piece = vec![0; size + 2];
                input.read_exact(&mut piece).await.ok()?;
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&piece[..size]);
            }
        }
        Some(body)
    }
}

async fn line(input: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = String::new();
    let read = input.read_line(&mut line).await.ok()?;
    (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
}
