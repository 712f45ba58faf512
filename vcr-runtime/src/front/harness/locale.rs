//! Which language a program speaks.

use super::config::LocalizationConfig;
use super::error::{HarnessError, HarnessResult};

/// Where the system says which language its user reads, the strongest first.
const SYSTEM: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The locale that a program's user wants: what `flag` says, else the variable `VCR_LOCALE`, else the system's variables
/// (`LC_ALL`, `LC_MESSAGES`, `LANG`), else none. `lookup` reads one variable.
///
/// ```
/// use vcr_runtime::harness::locale_from;
///
/// let system = |name: &str| (name == "LANG").then(|| "de_AT.UTF-8".to_owned());
/// assert_eq!(locale_from(None, system)?.locale.as_deref(), Some("de-AT"));
/// assert_eq!(locale_from(Some("en-GB"), system)?.locale.as_deref(), Some("en-GB"));
/// # Ok::<(), vcr_runtime::harness::HarnessError>(())
/// ```
///
/// # Errors
/// [`HarnessError::InvalidConfig`] when the flag or `VCR_LOCALE` holds no locale. What the system says may be anything.
pub fn locale_from(
    flag: Option<&str>,
    lookup: impl Fn(&str) -> Option<String>,
) -> HarnessResult<LocalizationConfig> {
    let variable = lookup("VCR_LOCALE").filter(|value| !value.trim().is_empty());
    let said = flag
        .map(|flag| ("the locale", flag.to_owned()))
        .or_else(|| variable.map(|variable| ("VCR_LOCALE", variable)));
    let locale = match said {
        Some((name, said)) => Some(tag(&said).ok_or_else(|| {
            HarnessError::config(format!("{name} is {said:?}, which is no locale such as `de-DE`"))
        })?),
        None => SYSTEM
            .iter()
            .filter_map(|name| lookup(name))
            .find(|value| !value.is_empty())
            .and_then(|value| tag(&value)),
    };
    Ok(LocalizationConfig {
        locale,
        ..LocalizationConfig::default()
    })
}

/// `de-AT` of `de_AT.UTF-8@euro`; `None` for what is no language, as `C` and `POSIX` are none.
fn tag(value: &str) -> Option<String> {
    let name = value.trim().split(['.', '@']).next()?.replace('_', "-");
    let mut subtags = name.split('-');
    let language = subtags.next()?;
    let is_language =
        (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_subtag = |subtag: &str| {
        (2..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    (is_language && subtags.all(is_subtag)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locale(flag: Option<&str>, variables: &[(&str, &str)]) -> HarnessResult<Option<String>> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        locale_from(flag, lookup).map(|config| config.locale)
    }

    #[test]
    fn flag_then_variable_then_system() {
        let all = [
            ("VCR_LOCALE", "de"),
            ("LC_ALL", "fr_FR.UTF-8"),
            ("LANG", "sr_RS@latin"),
        ];
        for (flag, variables, expected) in [
            (Some("pt-BR"), &all[..], Some("pt-BR")),
            (None, &all, Some("de")),
            (None, &all[1..], Some("fr-FR")),
            (None, &all[2..], Some("sr-RS")),
            (
                None,
                &[("LC_ALL", ""), ("LC_MESSAGES", "C.UTF-8"), ("LANG", "de")],
                None,
            ),
            (None, &[("LANG", "POSIX")], None),
            (
                None,
                &[("VCR_LOCALE", " "), ("LANG", "zh_Hant_TW")],
                Some("zh-Hant-TW"),
            ),
            (None, &[], None),
        ] {
            assert_eq!(
                locale(flag, variables).unwrap().as_deref(),
                expected,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn what_was_chosen_must_be_a_locale() {
        for (flag, variables, named) in [
            (Some("german"), &[][..], "the locale is \"german\""),
            (Some(""), &[], "the locale"),
            (None, &[("VCR_LOCALE", "../de")], "VCR_LOCALE is \"../de\""),
        ] {
            let error = locale(flag, variables).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
