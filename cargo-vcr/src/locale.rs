//! Which language the user reads.

use std::ffi::OsString;

use vcr_runtime::harness::locale_from;

use crate::words::Words;

/// The variables that a Unix system says it with.
const SYSTEM: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The messages of the locale that the flag names among `words`, else the variable `VCR_LOCALE`, else the system.
///
/// # Errors
/// What was named is no locale; the line to print.
pub(crate) fn choose(words: &[OsString]) -> Result<Words, String> {
    let flag = flag(words);
    let flag = flag.as_deref();
    let lookup = |name: &str| std::env::var(name).ok();
    match locale_from(flag, lookup) {
        // Where no variable says anything there may be a system that is asked in another way.
        Ok(config) if config.locale.is_none() && SYSTEM.iter().all(|name| lookup(name).is_none()) => {
            Ok(Words::of(sys_locale::get_locale().as_deref()))
        }
        Ok(config) => Ok(Words::of(config.locale.as_deref())),
        Err(_) => {
            let system = locale_from(None, |name| lookup(name).filter(|_| name != "VCR_LOCALE"));
            let system = system.ok().and_then(|config| config.locale);
            let (name, value) = match flag {
                Some(flag) => ("--locale", format!("{flag:?}")),
                None => (
                    "VCR_LOCALE",
                    format!("{:?}", lookup("VCR_LOCALE").unwrap_or_default()),
                ),
            };
            let words = Words::of(system.as_deref());
            Err(words.say("locale-invalid", [("name", name.into()), ("value", value.into())]))
        }
    }
}

/// The value of the last `--locale`, before clap reads the line: its own help and errors come in that language.
fn flag(words: &[OsString]) -> Option<String> {
    let mut found = None;
    let mut words = words
        .iter()
        .map(|word| word.to_string_lossy())
        .take_while(|word| word != "--");
    while let Some(word) = words.next() {
        if word == "--locale" {
            found = words.next().map(Into::into);
        } else if let Some(value) = word.strip_prefix("--locale=") {
            found = Some(value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_found_wherever_it_stands() {
        for (line, found) in [
            ("cargo vcr --locale de serve", Some("de")),
            ("cargo vcr verify fixtures --locale=de-AT", Some("de-AT")),
            ("cargo vcr --locale de serve --locale en", Some("en")),
            ("cargo vcr verify -- --locale de", None),
            ("cargo vcr verify --locale", None),
            ("cargo vcr serve", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert_eq!(flag(&words).as_deref(), found, "{line}");
        }
    }
}
