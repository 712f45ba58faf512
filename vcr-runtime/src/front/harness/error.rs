//! What can go wrong with a harness.

use std::fmt;
use std::io;

use crate::error::{Error, ErrorKind};

/// A result of the harness.
pub type HarnessResult<T> = Result<T, HarnessError>;

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum HarnessError {
    /// A setting cannot be used.
    InvalidConfig {
        /// Which, and why.
        message: String,
    },
    /// There is no cassette of that name.
    CassetteNotFound {
        /// The name.
        cassette_name: String,
    },
    /// The cassette is no JSON, lacks required members, or does not hold when it is verified.
    InvalidCassette {
        /// What is wrong, and where.
        message: String,
    },
    /// The cassette is of another version of its format.
    UnsupportedCassetteFormatVersion {
        /// That of the file.
        found: u32,
        /// The one that can be read.
        supported: u32,
    },
    /// The mode does not start a harness. No mode of this version is so.
    ModeNotYetImplemented {
        /// Its name.
        mode: String,
    },
    /// A request was not the recorded one.
    RequestMismatch {
        /// The interaction that was expected, counted from 0; where none was, how many there are.
        interaction_id: usize,
        /// Its hash, empty where none was expected.
        expected_hash: String,
        /// That of the request.
        observed_hash: String,
        /// What differs, a line a change.
        diff_summary: String,
    },
    /// The upstream could not be asked, or broke off its answer.
    UpstreamRequestFailed {
        /// How.
        source: UpstreamFailure,
    },
    /// The operating system refused: a file, or the address to listen on.
    Io {
        /// How.
        source: io::Error,
    },
}

/// How a call to the upstream failed; names neither key nor query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamFailure {
    pub(super) message: String,
}

impl fmt::Display for UpstreamFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for UpstreamFailure {}

impl HarnessError {
    pub(super) fn config(message: impl Into<String>) -> Self {
        Self::InvalidConfig {
            message: message.into(),
        }
    }

    pub(super) fn cassette(message: impl Into<String>) -> Self {
        Self::InvalidCassette {
            message: message.into(),
        }
    }

    /// A fault of the engine, which names the cassette by its path.
    pub(super) fn of(error: &Error, cassette_name: &str) -> Self {
        match error.kind() {
            ErrorKind::CassetteMissing => Self::CassetteNotFound {
                cassette_name: cassette_name.to_owned(),
            },
            ErrorKind::CassetteBroken | ErrorKind::CassetteVersion | ErrorKind::TakeMissing => {
                Self::cassette(error.to_string())
            }
            ErrorKind::Config | ErrorKind::Identity | ErrorKind::Collision | ErrorKind::Secret => {
                Self::config(error.to_string())
            }
            ErrorKind::Busy => Self::Io {
                source: io::Error::new(io::ErrorKind::WouldBlock, error.to_string()),
            },
            _ => Self::Io {
                source: io::Error::other(error.to_string()),
            },
        }
    }
}

impl fmt::Display for HarnessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidConfig { message } => write!(formatter, "invalid configuration: {message}"),
            Self::CassetteNotFound { cassette_name } => {
                write!(formatter, "cassette not found: {cassette_name}")
            }
            Self::InvalidCassette { message } => write!(formatter, "invalid cassette: {message}"),
            Self::UnsupportedCassetteFormatVersion { found, supported } => write!(
                formatter,
                "unsupported cassette format version {found}; supported version is {supported}"
            ),
            Self::ModeNotYetImplemented { mode } => {
                write!(formatter, "mode not yet implemented: {mode}")
            }
            Self::RequestMismatch {
                interaction_id,
                expected_hash,
                observed_hash,
                ..
            } => write!(
                formatter,
                "request mismatch at interaction {interaction_id}: expected {expected_hash}, observed {observed_hash}"
            ),
            Self::UpstreamRequestFailed { source } => {
                write!(formatter, "upstream request failed: {source}")
            }
            // The text of the source may name paths; it is there for those who ask for it.
            Self::Io { .. } => formatter.write_str("io failure"),
        }
    }
}

impl std::error::Error for HarnessError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::UpstreamRequestFailed { source } => Some(source),
            Self::Io { source } => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for HarnessError {
    fn from(source: io::Error) -> Self {
        Self::Io { source }
    }
}
