//! Messages in the user's language.

use std::borrow::Cow;
use std::collections::HashMap;

use i18n_embed::I18nAssets;
use i18n_embed::fluent::FluentLanguageLoader;

use super::error::HarnessError;

/// The domains under which the messages are found: this library's, and that of programs that come from the spycatcher
/// harness.
const DOMAINS: [&str; 2] = ["vcr-harness", "spycatcher-harness"];

/// The languages, each with its messages.
const LANGUAGES: [(&str, &str); 2] = [
    ("en-US", include_str!("../../../i18n/en-US.ftl")),
    ("de", include_str!("../../../i18n/de.ftl")),
];

/// The messages of this library, for a loader of the application's own. The library has no loader and asks nobody for a
/// language.
///
/// ```
/// use i18n_embed::fluent::FluentLanguageLoader;
/// use i18n_embed::unic_langid::LanguageIdentifier;
/// use vcr_runtime::harness::HarnessError;
/// use vcr_runtime::harness::i18n::{HarnessLocalizations, localize_harness_error};
///
/// let english: LanguageIdentifier = "en-US".parse()?;
/// let loader = FluentLanguageLoader::new("vcr-harness", english.clone());
/// i18n_embed::select(&loader, &HarnessLocalizations, &["de-AT".parse()?, english])?;
///
/// let error = HarnessError::CassetteNotFound { cassette_name: "smoke".to_owned() };
/// assert_eq!(localize_harness_error(&loader, &error), "Kassette nicht gefunden: \u{2068}smoke\u{2069}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HarnessLocalizations;

impl I18nAssets for HarnessLocalizations {
    fn get_files(&self, file_path: &str) -> Vec<Cow<'_, [u8]>> {
        let messages = file_path.split_once('/').and_then(|(language, file)| {
            let domain = file.strip_suffix(".ftl")?;
            let (_, messages) = LANGUAGES.iter().find(|(known, _)| *known == language)?;
            DOMAINS.contains(&domain).then_some(*messages)
        });
        messages
            .map(|messages| Cow::Borrowed(messages.as_bytes()))
            .into_iter()
            .collect()
    }

    fn filenames_iter(&self) -> Box<dyn Iterator<Item = String> + '_> {
        Box::new(LANGUAGES.iter().flat_map(|(language, _)| {
            DOMAINS
                .iter()
                .map(move |domain| format!("{language}/{domain}.ftl"))
        }))
    }
}

/// The message of an error in the language of `loader`, or in plain English when the loader has not loaded
/// [`HarnessLocalizations`]. The marks that isolate the direction of inserted texts stay. Inserted texts are never read as
/// Fluent. That of [`HarnessError::Io`] is the operating system's and may name paths.
#[must_use]
pub fn localize_harness_error(loader: &FluentLanguageLoader, error: &HarnessError) -> String {
    let (id, arguments) = message(error);
    if loader.has(id) {
        loader.get_args(id, arguments)
    } else {
        error.to_string()
    }
}

type Arguments = HashMap<&'static str, String>;

fn message(error: &HarnessError) -> (&'static str, Arguments) {
    match error {
        HarnessError::InvalidConfig { message } => (
            "harness-error-invalid-config",
            HashMap::from([("message", message.clone())]),
        ),
        HarnessError::CassetteNotFound { cassette_name } => (
            "harness-error-cassette-not-found",
            HashMap::from([("cassette_name", cassette_name.clone())]),
        ),
        HarnessError::InvalidCassette { message } => (
            "harness-error-invalid-cassette",
            HashMap::from([("message", message.clone())]),
        ),
        HarnessError::UnsupportedCassetteFormatVersion { found, supported } => (
            "harness-error-unsupported-cassette-format-version",
            HashMap::from([("found", found.to_string()), ("supported", supported.to_string())]),
        ),
        HarnessError::ModeNotYetImplemented { mode } => (
            "harness-error-mode-not-yet-implemented",
            HashMap::from([("mode", mode.clone())]),
        ),
        HarnessError::RequestMismatch {
            interaction_id,
            expected_hash,
            observed_hash,
            diff_summary,
        } => (
            "harness-error-request-mismatch",
            HashMap::from([
                ("interaction_id", interaction_id.to_string()),
                ("expected_hash", expected_hash.clone()),
                ("observed_hash", observed_hash.clone()),
                ("diff_summary", diff_summary.clone()),
            ]),
        ),
        HarnessError::UpstreamRequestFailed { source } => (
            "harness-error-upstream-request-failed",
            HashMap::from([("source", source.to_string())]),
        ),
        HarnessError::Io { source } => (
            "harness-error-io",
            HashMap::from([("source", source.to_string())]),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use i18n_embed::unic_langid::LanguageIdentifier;

    use super::super::error::UpstreamFailure;
    use super::*;

    fn language(tag: &str) -> LanguageIdentifier {
        tag.parse().unwrap()
    }

    fn loader(domain: &str, tag: &str) -> FluentLanguageLoader {
        let loader = FluentLanguageLoader::new(domain, language("en-US"));
        i18n_embed::select(&loader, &HarnessLocalizations, &[language(tag)]).unwrap();
        loader
    }

    /// One of each, with texts that Fluent would read as its own.
    fn errors() -> Vec<HarnessError> {
        let text = || "{ $mode } \"x\"".to_owned();
        vec![
            HarnessError::InvalidConfig { message: text() },
            HarnessError::CassetteNotFound {
                cassette_name: text(),
            },
            HarnessError::InvalidCassette { message: text() },
            HarnessError::UnsupportedCassetteFormatVersion {
                found: 2,
                supported: 1,
            },
            HarnessError::ModeNotYetImplemented { mode: text() },
            HarnessError::RequestMismatch {
                interaction_id: 42,
                expected_hash: "abc".to_owned(),
                observed_hash: "def".to_owned(),
                diff_summary: text(),
            },
            HarnessError::UpstreamRequestFailed {
                source: UpstreamFailure { message: text() },
            },
            HarnessError::Io {
                source: std::io::Error::other(text()),
            },
        ]
    }

    /// The messages of a file by their key, each with the arguments that it names.
    fn messages(file: &str) -> Vec<(&str, BTreeSet<&str>)> {
        let mut messages: Vec<(&str, BTreeSet<&str>)> = Vec::new();
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            if let Some((key, _)) = line.split_once(" =").filter(|_| !line.starts_with(' ')) {
                messages.push((key, BTreeSet::new()));
            }
            for argument in line.split("{ $").skip(1) {
                let (name, _) = argument.split_once(" }").unwrap();
                messages.last_mut().unwrap().1.insert(name);
            }
        }
        messages
    }

    #[test]
    fn every_language_has_every_message_with_the_same_arguments() {
        let english = messages(LANGUAGES[0].1);
        let ids: BTreeSet<&str> = errors().iter().map(|error| message(error).0).collect();
        let keys: BTreeSet<&str> = english.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ids);
        for (language, file) in LANGUAGES {
            assert_eq!(messages(file), english, "{language}");
            let resource = fluent_syntax::parser::parse(file);
            assert!(resource.is_ok(), "{language}: {:?}", resource.map(drop));
        }
        for error in errors() {
            let (id, arguments) = message(&error);
            let (_, named) = english.iter().find(|(key, _)| *key == id).unwrap();
            // The lines of a difference are for programs that show them apart.
            let given = arguments.keys().copied().filter(|name| *name != "diff_summary");
            assert_eq!(&given.collect::<BTreeSet<_>>(), named, "{id}");
        }
    }

    #[test]
    fn english_says_what_the_plain_text_says() {
        let loader = loader("spycatcher-harness", "en-GB");
        for error in errors() {
            let localized = localize_harness_error(&loader, &error);
            let plain = localized.replace(['\u{2068}', '\u{2069}'], "");
            assert_ne!(localized, plain, "the marks stay");
            match &error {
                HarnessError::Io { source } => assert_eq!(plain, format!("io failure: {source}")),
                error => assert_eq!(plain, error.to_string()),
            }
        }
        assert_eq!(
            localize_harness_error(
                &loader,
                &HarnessError::InvalidConfig {
                    message: "missing upstream".to_owned()
                }
            ),
            "invalid configuration: \u{2068}missing upstream\u{2069}"
        );
    }

    #[test]
    fn german_is_another_text_and_no_loader_is_plain() {
        let german = loader("vcr-harness", "de-AT");
        let empty = FluentLanguageLoader::new("vcr-harness", language("en-US"));
        for error in errors() {
            let localized = localize_harness_error(&german, &error);
            assert_ne!(localized.replace(['\u{2068}', '\u{2069}'], ""), error.to_string());
            assert!(localized.contains('\u{2068}'), "{localized}");
            assert_eq!(localize_harness_error(&empty, &error), error.to_string());
        }
    }
}
