//! A recorded interaction as an answer.

use std::time::Duration;

use http::header::{CONTENT_ENCODING, HeaderName, HeaderValue};

use super::config::{HarnessConfig, ReplayConfig};
use super::error::{HarnessError, HarnessResult};
use crate::config::Speed;
use crate::front::gateway::Coding;
use crate::model::HttpHead;
use crate::protocol::Framing;
use crate::session::{Pace, Playback, PlaybackBody};
use crate::source::spycatcher::{Body, Event, Interaction, Pairs, Stream, render};

/// An answer, ready to be sent any number of times.
#[derive(Debug)]
pub(super) struct Playable {
    head: HttpHead,
    body: Playing,
    /// The recorded answer is a whole body although its request asked for a stream.
    pub(super) answered_whole: bool,
}

#[derive(Debug)]
enum Playing {
    Whole(Vec<u8>),
    /// Pieces with the times at which they came, and whether each has data.
    Pieces(Vec<(Duration, Vec<u8>, bool)>),
}

/// When pieces go out.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    simulated: Option<ReplayConfig>,
    factor: f64,
}

impl Timing {
    pub(super) fn of(config: &HarnessConfig) -> Self {
        Self {
            simulated: config.replay.simulate_timing.then(|| config.replay.clone()),
            factor: match config.speed {
                Speed::Max => 0.0,
                Speed::Real => 1.0,
                Speed::Factor(factor) => 1.0 / factor,
            },
        }
    }

    fn first(&self) -> Duration {
        let simulated = self.simulated.as_ref();
        simulated.map_or(Duration::ZERO, |simulated| {
            Duration::from_millis(simulated.ttft_ms)
        })
    }

    /// When the piece is due after `data` pieces with data; `recorded` is when it came.
    fn due(&self, data: u64, recorded: Duration) -> Duration {
        match &self.simulated {
            None => recorded,
            Some(ReplayConfig { tps: 0, .. }) => self.first(),
            Some(ReplayConfig { tps, .. }) => self.first() + Duration::from_micros(data * 1_000_000 / tps),
        }
    }

    fn pace(&self) -> Pace {
        Pace::new(
            if self.simulated.is_some() {
                1.0
            } else {
                self.factor
            },
            Vec::new(),
        )
    }
}

impl Playable {
    /// # Errors
    /// Its body is coded in a way that cannot be undone here; `index` names it.
    pub(super) fn of(interaction: Interaction, index: usize, byte_exact: bool) -> HarnessResult<Self> {
        let response = interaction.response;
        let mut headers = response.headers;
        let (body, answered_whole) = match response.body {
            Body::Whole(body) => {
                let whole = interaction.metadata.stream_answered_whole || response.status >= 400;
                (Playing::Whole(plain(body, &mut headers, index)?), whole)
            }
            Body::Stream(stream) => (Playing::Pieces(pieces(stream, &mut headers, byte_exact)), false),
        };
        Ok(Self {
            head: HttpHead {
                status: response.status,
                headers,
            },
            body,
            answered_whole,
        })
    }

    /// Whether its status is one that can be sent.
    pub(super) fn has_status(&self) -> bool {
        (200..=599).contains(&self.head.status)
    }

    pub(super) fn status(&self) -> u16 {
        self.head.status
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.body, Playing::Pieces(_))
    }

    pub(super) fn playback(&self, timing: &Timing) -> Playback {
        let body = match &self.body {
            Playing::Whole(body) => PlaybackBody::Whole(timing.first(), body.clone().into()),
            Playing::Pieces(pieces) => {
                let mut data = 0;
                let pieces = pieces.iter().map(|(at, bytes, has_data)| {
                    let due = timing.due(data, *at);
                    data += u64::from(*has_data);
                    (due, bytes)
                });
                PlaybackBody::Pieces(pieces.collect())
            }
        };
        Playback {
            head: self.head.clone(),
            body,
            abort: false,
            hang: None,
            end: Duration::ZERO,
            pace: timing.pace(),
        }
    }
}

/// The events of a stream, or its bytes where they are wanted and there.
fn pieces(stream: Stream, headers: &mut Pairs, byte_exact: bool) -> Vec<(Duration, Vec<u8>, bool)> {
    let content_type = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let framing = Framing::of(content_type.map(|(_, value)| value.as_str())).unwrap_or(Framing::Sse);
    if content_type.is_none() {
        headers.push(("content-type".to_owned(), "text/event-stream".to_owned()));
    }
    let timing = stream.timing.unwrap_or_default();
    let at = |index: usize| {
        let offsets = &timing.chunk_offsets_ms;
        let offset = offsets.get(index).or(offsets.last()).copied();
        Duration::from_millis(offset.unwrap_or(timing.ttft_ms))
    };
    if (byte_exact || stream.events.is_empty()) && !stream.transcript.is_empty() {
        return exact(&stream.transcript, &stream.events, at);
    }
    let pieces = stream.events.iter().enumerate();
    pieces
        .map(|(index, event)| (at(index), render(event, framing), matches!(event, Event::Data(_))))
        .collect()
}

/// The bytes, cut behind blank lines: one piece for each event, and the rest with the last one. Where the bytes have more
/// or fewer blank lines than there are events, the times are those of the nearest event, and the bytes are what they are.
fn exact(
    transcript: &[u8],
    events: &[Event],
    at: impl Fn(usize) -> Duration,
) -> Vec<(Duration, Vec<u8>, bool)> {
    let mut pieces: Vec<(Duration, Vec<u8>, bool)> = Vec::new();
    let mut piece = Vec::new();
    let mut line_is_empty = true;
    for &byte in transcript {
        piece.push(byte);
        let ends = byte == b'\n';
        if ends && line_is_empty && piece.iter().any(|byte| !matches!(byte, b'\r' | b'\n')) {
            let index = pieces.len();
            let has_data = !matches!(events.get(index), Some(Event::Comment(_)));
            pieces.push((at(index), std::mem::take(&mut piece), has_data));
        }
        line_is_empty = ends || (line_is_empty && byte == b'\r');
    }
    if !piece.is_empty() {
        pieces.push((at(pieces.len()), piece, true));
    }
    pieces
}

/// The body as it was before a content coding: what the server sends is plain.
fn plain(body: Vec<u8>, headers: &mut Pairs, index: usize) -> HarnessResult<Vec<u8>> {
    let mut map = http::HeaderMap::new();
    for (name, value) in headers.iter() {
        if name.eq_ignore_ascii_case(CONTENT_ENCODING.as_str())
            && let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(name.as_bytes()),
                HeaderValue::from_str(value),
            )
        {
            map.append(name, value);
        }
    }
    let broken = |why: String| HarnessError::cassette(format!("the body of interaction {index} {why}"));
    let mut decoding = match Coding::of(&map) {
        Coding::Plain => return Ok(body),
        Coding::Known(decoding) => decoding,
        Coding::Unknown(name) => {
            return Err(broken(format!(
                "has the content-encoding {name}, which cannot be undone; store it plain, without that header"
            )));
        }
    };
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case(CONTENT_ENCODING.as_str()));
    let mut undo = || {
        let mut plain = decoding.push(&body)?;
        plain.extend(decoding.finish()?);
        Ok(plain)
    };
    undo().map_err(|error: std::io::Error| broken(format!("does not fit its content-encoding: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::spycatcher::{Data, Response, Timing as Recorded};

    fn data(raw: &str) -> Event {
        Event::Data(Data {
            raw: raw.to_owned(),
            ..Data::default()
        })
    }

    fn stream(transcript: &str) -> Interaction {
        Interaction {
            response: Response {
                status: 200,
                headers: Pairs::new(),
                body: Body::Stream(Stream {
                    events: vec![Event::Comment("w".to_owned()), data("1"), data("2"), data("3")],
                    transcript: transcript.into(),
                    timing: Some(Recorded {
                        ttft_ms: 5,
                        chunk_offsets_ms: vec![5, 10, 20],
                    }),
                }),
            },
            ..Interaction::default()
        }
    }

    fn due(interaction: Interaction, byte_exact: bool, config: &HarnessConfig) -> Vec<(u128, String)> {
        let playable = Playable::of(interaction, 0, byte_exact).unwrap();
        match playable.playback(&Timing::of(config)).body {
            PlaybackBody::Pieces(pieces) => {
                let mut rest = pieces.bytes.as_slice();
                let due = pieces.cuts.into_iter().map(|(at, length)| {
                    let (piece, after) = rest.split_at(length);
                    rest = after;
                    (at.as_millis(), String::from_utf8(piece.to_vec()).unwrap())
                });
                due.collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn pairs(expected: &[(u128, &str)]) -> Vec<(u128, String)> {
        expected
            .iter()
            .map(|(at, text)| (*at, (*text).to_owned()))
            .collect()
    }

    #[test]
    fn events_go_out_at_their_recorded_or_simulated_times() {
        let config = HarnessConfig::default();
        let texts = [": w\n\n", "data: 1\n\n", "data: 2\n\n", "data: 3\n\n"];
        let at = |times: [u128; 4]| {
            let timed: Vec<_> = times.into_iter().zip(texts).collect();
            pairs(&timed)
        };
        assert_eq!(due(stream(""), false, &config), at([5, 10, 20, 20]));
        let replay = ReplayConfig {
            simulate_timing: true,
            ttft_ms: 100,
            tps: 10,
        };
        let simulated = HarnessConfig {
            replay: replay.clone(),
            ..HarnessConfig::default()
        };
        assert_eq!(due(stream(""), false, &simulated), at([100, 100, 200, 300]));
        let at_once = HarnessConfig {
            replay: ReplayConfig { tps: 0, ..replay },
            ..HarnessConfig::default()
        };
        assert_eq!(due(stream(""), false, &at_once), at([100, 100, 100, 100]));
    }

    #[test]
    fn the_bytes_themselves_are_served_where_they_are_wanted() {
        let config = HarnessConfig::default();
        let odd = ":w\n\nevent: e\r\ndata:1\r\n\r\n\ndata: 2\n\ndata: 3\n\n";
        assert_eq!(
            due(stream(odd), true, &config),
            pairs(&[
                (5, ":w\n\n"),
                (10, "event: e\r\ndata:1\r\n\r\n"),
                (20, "\ndata: 2\n\n"),
                (20, "data: 3\n\n"),
            ])
        );
        // Written by hand there are no bytes.
        assert_eq!(due(stream(""), true, &config).len(), 4);
        let cut: String = due(stream("data: 1"), true, &config)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(cut, "data: 1");
    }

    #[test]
    fn a_coded_body_is_undone_or_refused() {
        let coded = |coding: &str, body: &[u8]| Interaction {
            response: Response {
                status: 200,
                headers: vec![("Content-Encoding".to_owned(), coding.to_owned())],
                body: Body::Whole(body.to_vec()),
            },
            ..Interaction::default()
        };
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, b"{}").unwrap();
        let playable = Playable::of(coded("gzip", &encoder.finish().unwrap()), 3, false).unwrap();
        assert!(playable.head.headers.is_empty());
        assert!(matches!(playable.body, Playing::Whole(body) if body == b"{}"));
        for (coding, body) in [("br", &b"{}"[..]), ("gzip", b"{}")] {
            let error = Playable::of(coded(coding, body), 3, false)
                .unwrap_err()
                .to_string();
            assert!(error.contains("interaction 3"), "{error}");
        }
    }
}
