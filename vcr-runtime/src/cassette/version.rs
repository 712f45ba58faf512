//! Versions of the cassette format as types: a major breaks readers, a minor only adds members.

use std::fmt;

use crate::json::Json;

/// What this build writes.
pub(crate) const CURRENT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The `format_version` of a file. `1` is 1.0; a minor is written as `"1.2"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormatVersion {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// How a file's version relates to what this build can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compatibility {
    /// Read and write.
    Full,
    /// A newer minor: its members may be ignored when reading, but rewriting would lose them.
    ReadOnly,
    /// Another major.
    None,
}

impl FormatVersion {
    /// Reads the member; absent means 1, as the seed's files have none.
    pub(crate) fn from_json(member: Option<&Json>) -> Option<Self> {
        let text = match member {
            None => return Some(Self { major: 1, minor: 0 }),
            Some(Json::Number(number)) => number.to_string(),
            Some(Json::String(text)) => text.clone(),
            Some(_) => return None,
        };
        let (major, minor) = text.split_once('.').unwrap_or((&text, "0"));
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    pub(crate) fn to_json(self) -> Json {
        if self.minor == 0 {
            Json::from(self.major)
        } else {
            Json::from(self.to_string())
        }
    }

    pub(crate) fn compatibility(self) -> Compatibility {
        if self.major != CURRENT.major {
            Compatibility::None
        } else if self.minor > CURRENT.minor {
            Compatibility::ReadOnly
        } else {
            Compatibility::Full
        }
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_of_readers_and_writers() {
        for (text, compatibility) in [
            ("1", Compatibility::Full),
            ("\"1.0\"", Compatibility::Full),
            ("1.0", Compatibility::Full),
            ("\"1.7\"", Compatibility::ReadOnly),
            ("99", Compatibility::None),
            ("0", Compatibility::None),
        ] {
            let member = crate::json::parse(text).unwrap();
            assert_eq!(
                FormatVersion::from_json(Some(&member)).unwrap().compatibility(),
                compatibility,
                "{text}"
            );
        }
        assert_eq!(FormatVersion::from_json(None).unwrap(), CURRENT);
        assert_eq!(FormatVersion::from_json(Some(&Json::Bool(true))), None);
        assert_eq!(FormatVersion::from_json(Some(&Json::from("x"))), None);
        assert_eq!(FormatVersion { major: 1, minor: 2 }.to_json(), Json::from("1.2"));
    }
}
