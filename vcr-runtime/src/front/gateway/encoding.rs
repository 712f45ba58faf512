//! Undoes the content coding of an upstream that compresses although `identity` was asked for.

use std::io::{self, Write};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// How an answer's body is coded.
pub(in crate::front) enum Coding {
    Plain,
    /// One that is undone here.
    Known(Box<Decoding>),
    /// One that is not, such as `br`, or a list of several.
    Unknown(String),
}

impl Coding {
    pub(in crate::front) fn of(headers: &HeaderMap) -> Self {
        let names: Vec<_> = headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .map(|value| {
                String::from_utf8_lossy(value.as_bytes())
                    .trim()
                    .to_ascii_lowercase()
            })
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        let inflate = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => return Self::Plain,
            ["gzip" | "x-gzip"] => Inflate::Gzip(MultiGzDecoder::new(Vec::new())),
            ["deflate"] => Inflate::Deflate(ZlibDecoder::new(Vec::new())),
            _ => return Self::Unknown(names.join(", ")),
        };
        Self::Known(Box::new(Decoding {
            inflate,
            begun: false,
        }))
    }
}

/// Decodes a body as it comes.
pub(in crate::front) struct Decoding {
    inflate: Inflate,
    begun: bool,
}

enum Inflate {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Decoding {
    /// All that can be decoded once `piece` is there.
    pub(in crate::front) fn push(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        self.begun |= !piece.is_empty();
        match &mut self.inflate {
            Inflate::Gzip(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Inflate::Deflate(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }

    /// The rest, or an error when the coded body is not complete.
    pub(in crate::front) fn finish(&mut self) -> io::Result<Vec<u8>> {
        if !self.begun {
            return Ok(Vec::new());
        }
        match &mut self.inflate {
            Inflate::Gzip(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Inflate::Deflate(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use http::HeaderValue;

    fn coding(value: &'static str) -> Coding {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(value));
        Coding::of(&headers)
    }

    fn decode(name: &'static str, coded: &[u8]) -> io::Result<Vec<u8>> {
        let Coding::Known(mut decoding) = coding(name) else {
            panic!("{name} is not decoded");
        };
        let mut plain = Vec::new();
        for byte in coded {
            plain.extend(decoding.push(std::slice::from_ref(byte))?);
        }
        plain.extend(decoding.finish()?);
        Ok(plain)
    }

    #[test]
    fn gzip_and_deflate_are_undone_byte_by_byte() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all("héllo".as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(decode("GZip", &gzip).unwrap(), "héllo".as_bytes());
        assert!(decode("gzip", &gzip[..gzip.len() - 1]).is_err());
        assert_eq!(decode("gzip", b"").unwrap(), b"");

        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(b"hello").unwrap();
        assert_eq!(decode("deflate", &zlib.finish().unwrap()).unwrap(), b"hello");
        assert!(decode("deflate", b"{\"plain\":1}").is_err());
    }

    #[test]
    fn a_flushed_part_is_decoded_before_the_next_arrives() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"one").unwrap();
        gzip.flush().unwrap();
        let Coding::Known(mut decoding) = coding("gzip") else {
            panic!("gzip is not decoded");
        };
        assert_eq!(decoding.push(gzip.get_ref()).unwrap(), b"one");
    }

    #[test]
    fn other_codings_are_named() {
        assert!(matches!(coding("identity"), Coding::Plain));
        assert!(matches!(coding("br"), Coding::Unknown(name) if name == "br"));
        assert!(matches!(coding("gzip, br"), Coding::Unknown(_)));
    }
}
