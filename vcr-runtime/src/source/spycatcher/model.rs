//! What a cassette says, without what can be derived from it.

/// The only version of the format there is.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Header names in lower case with their values, in the order in which they were seen.
pub(crate) type Pairs = Vec<(String, String)>;

/// One request and its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Interaction {
    pub(crate) request: Request,
    pub(crate) response: Response,
    pub(crate) metadata: Metadata,
}

/// A request as the caller sent it, less what is not kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Without `?`, as the caller wrote it.
    pub(crate) query: String,
    pub(crate) headers: Pairs,
    pub(crate) body: Vec<u8>,
    /// The JSON text of the envelope that was hashed; parsed when a difference has to be shown.
    pub(crate) canonical: Option<Box<str>>,
    /// 64 lower-case hexadecimal digits.
    pub(crate) hash: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Pairs,
    pub(crate) body: Body,
}

/// The body of an answer: `non_stream` or `stream`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Whole(Vec<u8>),
    Stream(Stream),
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Vec::new())
    }
}

/// A streamed body, as events and as the bytes that they were read from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stream {
    pub(crate) events: Vec<Event>,
    /// Empty in files written by hand.
    pub(crate) transcript: Vec<u8>,
    pub(crate) timing: Option<Timing>,
}

/// When the events of a stream came, in milliseconds from the request to the upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) ttft_ms: u64,
    /// One for each event; events of one network chunk share theirs.
    pub(crate) chunk_offsets_ms: Vec<u64>,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A comment line, without the colon and one space after it.
    Comment(String),
    Data(Data),
}

/// An event with data. The fields besides the data are ours: the format knows `raw` alone, and readers of it pass over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    /// The `data:` lines, joined by line feeds.
    pub(crate) raw: String,
    pub(crate) event: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<String>,
}

/// Where and when an exchange was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) protocol_id: String,
    pub(crate) upstream_id: String,
    /// RFC 3339, UTC.
    pub(crate) recorded_at: String,
    /// From the start of the session to that of the exchange.
    pub(crate) relative_offset_ms: u64,
    /// The request asked for a stream and the upstream answered with one whole body, which therefore answers it again. Ours;
    /// absent where it is not so.
    pub(crate) stream_answered_whole: bool,
}
