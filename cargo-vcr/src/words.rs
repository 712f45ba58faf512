//! What the command says, in the user's language.

use fluent_bundle::{FluentArgs, FluentBundle, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;
use vcr_runtime::{Error, Report};

/// The language that every other one falls back to. It says what the library says.
const ENGLISH: (&str, &str) = ("en-US", include_str!("../i18n/en-US.ftl"));
/// The other languages: their messages, and the help that clap has in English itself.
const OTHERS: [(&str, &str, &str); 1] = [(
    "de",
    include_str!("../i18n/de.ftl"),
    include_str!("../i18n/de.help.ftl"),
)];

/// The messages of one language, with English behind them.
pub(crate) struct Words {
    language: Option<FluentBundle<FluentResource>>,
    english: FluentBundle<FluentResource>,
}

impl Words {
    /// Those of a locale such as `de-AT`; English for none and for one that nobody has translated.
    pub(crate) fn of(locale: Option<&str>) -> Self {
        let wanted: Option<LanguageIdentifier> = locale.and_then(|locale| locale.parse().ok());
        let language = OTHERS.iter().find(|(known, ..)| {
            let known: Option<LanguageIdentifier> = known.parse().ok();
            matches!((&wanted, known), (Some(wanted), Some(known)) if wanted.language == known.language)
        });
        Self {
            language: language.map(|(tag, messages, help)| bundle(tag, &[messages, help])),
            english: bundle(ENGLISH.0, &[ENGLISH.1]),
        }
    }

    /// The message with its arguments.
    pub(crate) fn say<'a>(
        &self,
        id: &str,
        arguments: impl IntoIterator<Item = (&'a str, FluentValue<'a>)>,
    ) -> String {
        let arguments: FluentArgs<'_> = arguments.into_iter().collect();
        let found = self.language.iter().chain([&self.english]);
        found
            .filter_map(|bundle| format(bundle, id, &arguments))
            .next()
            .unwrap_or_else(|| id.to_owned())
    }

    /// A text that English has in clap itself; `None` there.
    pub(crate) fn help<'a>(
        &self,
        id: &str,
        arguments: impl IntoIterator<Item = (&'a str, FluentValue<'a>)>,
    ) -> Option<String> {
        format(self.language.as_ref()?, id, &arguments.into_iter().collect())
    }

    /// What an error of the library says.
    pub(crate) fn error(&self, error: &Error) -> String {
        let id = format!("error-{}", error.kind().as_str());
        let known = self.english.has_message(&id);
        self.say(
            if known { &id } else { "error-other" },
            [("text", error.to_string().into())],
        )
    }

    /// The line for a command that failed.
    pub(crate) fn failed(&self, command: &str, error: &str) -> String {
        self.say("failed", [("command", command.into()), ("error", error.into())])
    }

    /// What a session did, in a line.
    pub(crate) fn report(&self, report: &Report) -> String {
        let count = |id, calls: usize| (calls > 0).then(|| self.say(id, [("calls", calls.into())]));
        let file = |id, path: &std::path::Path| self.say(id, [("file", path.display().to_string().into())]);
        let mut parts: Vec<String> = [
            count("report-replayed", report.replayed),
            count("report-recorded", report.recorded),
            count("report-unused", report.unused),
        ]
        .into_iter()
        .flatten()
        .collect();
        parts.extend(report.written.iter().map(|path| file("report-written", path)));
        parts.extend(report.set_aside.iter().map(|path| file("report-set-aside", path)));
        if parts.is_empty() {
            parts.push(self.say("report-none", []));
        }
        parts.join(", ")
    }
}

fn bundle(tag: &str, files: &[&str]) -> FluentBundle<FluentResource> {
    let mut bundle = FluentBundle::new(tag.parse().into_iter().collect());
    // Paths and hashes are copied from a terminal: no invisible marks around them. Both languages run from left to right.
    bundle.set_use_isolating(false);
    for file in files {
        // What could be read of a faulty file is used; the tests let none pass.
        let resource = FluentResource::try_new((*file).to_owned()).unwrap_or_else(|(resource, _)| resource);
        bundle.add_resource_overriding(resource);
    }
    bundle
}

fn format(bundle: &FluentBundle<FluentResource>, id: &str, arguments: &FluentArgs<'_>) -> Option<String> {
    let pattern = bundle.get_message(id)?.value()?;
    let mut faults = Vec::new();
    let text = bundle.format_pattern(pattern, Some(arguments), &mut faults);
    faults.is_empty().then(|| text.into_owned())
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
