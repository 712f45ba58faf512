//! Proving a cassette.

use std::fmt;
use std::path::Path;

use super::config::{CassetteFormat, HarnessConfig, Mode};
use super::error::{HarnessError, HarnessResult};
use super::running::{redactor, text, unreadable};
use crate::redact::Redactor;
use crate::source::spycatcher::{Pointers, Rules, check};

/// How many findings a message names.
const NAMED: usize = 5;

/// What the proof of a cassette found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Everything that does not hold, in the order of the file.
    pub findings: Vec<VerifyFinding>,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyFinding {
    /// Which interaction, counted from 0.
    pub interaction: usize,
    /// Where in it, such as `request.stable_hash`.
    pub member: String,
    /// What is wrong.
    pub message: String,
}

impl VerifyReport {
    /// Whether everything holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }
}

impl fmt::Display for VerifyFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "interaction {}, {}: {}",
            self.interaction, self.member, self.message
        )
    }
}

/// Holds every layer of a cassette in the spycatcher format against the others: version and members, the canonical request
/// and its hash recomputed, parsed bodies against their bytes, events against their transcript and times, and nothing stored
/// that the redaction drops. Cassettes of this library are proved by [`verify`](fn@crate::verify).
///
/// # Errors
/// A configuration that cannot be used, or a file that is no cassette.
pub fn verify_cassette(config: &HarnessConfig) -> HarnessResult<VerifyReport> {
    if config.format != CassetteFormat::Spycatcher {
        return Err(HarnessError::config(
            "`format` is not that of the spycatcher harness; `vcr_runtime::verify` proves the others",
        ));
    }
    let (_, text) = text(config)?;
    findings(config, &text, redactor(config)?.as_deref())
}

/// The error of a text that does not hold.
pub(super) fn holds(config: &HarnessConfig, text: &str, redactor: Option<&Redactor>) -> HarnessResult<()> {
    let report = findings(config, text, redactor)?;
    if report.holds() {
        return Ok(());
    }
    let named: Vec<String> = report
        .findings
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    let more = report.findings.len() - named.len();
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    Err(HarnessError::cassette(format!("{}{more}", named.join("; "))))
}

/// The same for a cassette of this library, which has to be there for replay too.
pub(super) fn own(config: &HarnessConfig, path: &Path) -> HarnessResult<()> {
    let fault = |error: &crate::Error| HarnessError::of(error, &config.cassette_name);
    // Reading it now says at the start what would else be said to every caller.
    crate::summary(path).map_err(|error| fault(&error))?;
    if config.mode != Mode::Verify {
        return Ok(());
    }
    let differences = crate::verify::verify(path).map_err(|error| fault(&error))?;
    let named: Vec<String> = differences.iter().take(NAMED).map(ToString::to_string).collect();
    if named.is_empty() {
        Ok(())
    } else {
        Err(HarnessError::cassette(named.join("; ")))
    }
}

fn findings(config: &HarnessConfig, text: &str, redactor: Option<&Redactor>) -> HarnessResult<VerifyReport> {
    let ignored = Pointers::parse(&config.ignored_body_paths)
        .map_err(|error| HarnessError::config(format!("`ignored_body_paths`: {error}")))?;
    let rules = Rules {
        ignored: &ignored,
        dropped: &config.redaction.drop_headers,
        secret: &|text| match redactor?.text(text) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(_) => Some("record it again, or remove it by hand".to_owned()),
        },
    };
    let findings = check(text, &rules).map_err(unreadable)?;
    let findings = findings
        .into_iter()
        .map(|found| VerifyFinding {
            interaction: found.interaction,
            member: found.member,
            message: found.message,
        })
        .collect();
    Ok(VerifyReport { findings })
}
