use crate::error::{Error, ErrorKind, Result};

/// Longest file name in bytes. Most file systems stop at 255; the temporary, lock and journal files beside a cassette
/// have longer names than it.
pub(super) const LONGEST: usize = 200;

/// Refuses a name that cannot be a file name, or part of one, on every system, and says how to write it instead.
///
/// Nothing is mapped silently: two names that are both accepted differ.
pub(super) fn check(what: &str, name: &str) -> Result<()> {
    let Some(problem) = problem(name) else {
        return Ok(());
    };
    let corrected = corrected(name);
    let advice = if corrected.is_empty() {
        "give it letters or digits, or leave it out".to_owned()
    } else {
        format!("write `{corrected}`")
    };
    Err(Error::new(
        ErrorKind::Identity,
        format!("the {what} `{}` {problem}", name.escape_debug()),
        advice,
    ))
}

/// The same for a name with which a cassette's file name ends, so that the file would be another cassette's side file.
pub(super) fn check_end(what: &str, name: &str) -> Result<()> {
    check(what, name)?;
    if !is_beside(name) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Identity,
        format!("the {what} `{name}` is that of a file which a recording keeps beside another cassette"),
        format!("write `{}`", corrected(name)),
    ))
}

/// Refuses a whole file name that is too long.
pub(super) fn check_length(file_name: &str) -> Result<()> {
    if file_name.len() <= LONGEST {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Identity,
        format!(
            "the cassette name `{file_name}` has {} bytes, more than {LONGEST}",
            file_name.len()
        ),
        format!(
            "set a shorter scenario or invoker, or `filename = \"{}\"`",
            corrected(file_name)
        ),
    ))
}

fn problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".to_owned());
    }
    if name.len() > LONGEST {
        return Some(format!("has {} bytes, more than {LONGEST}", name.len()));
    }
    if name.contains("..") {
        return Some("contains `..`".to_owned());
    }
    if let Some(bad) = name.chars().find(|char| is_bad(*char)) {
        let shown = bad.escape_debug();
        return Some(format!("contains `{shown}`, which cannot stand in a file name"));
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Some("begins or ends with a space or ends with a dot".to_owned());
    }
    is_reserved(name).then(|| "is a name that Windows reserves".to_owned())
}

/// `a.new`, `a.interrupted` and `a.interrupted-2` stand beside the cassette `a`; see `cassette`.
fn is_beside(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".json").unwrap_or(&name);
    let Some((_, last)) = stem.rsplit_once('.') else {
        return false;
    };
    let number = last.strip_prefix("interrupted-");
    matches!(last, "new" | "interrupted")
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Separators, what Windows refuses, and characters that cannot be seen.
fn is_bad(char: char) -> bool {
    char.is_control()
        || matches!(char, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Windows reserves device names with any extension and in any case.
fn is_reserved(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end()
        .to_ascii_uppercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|number| {
            let mut chars = number.chars();
            matches!(chars.next(), Some('0'..='9' | '¹' | '²' | '³')) && chars.next().is_none()
        })
    };
    matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || numbered("COM")
        || numbered("LPT")
}

/// The nearest name that is accepted; empty when nothing is left.
fn corrected(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for char in name.chars() {
        let char = if is_bad(char) { '_' } else { char };
        // A run of replaced characters or dots becomes one.
        if (char == '_' || char == '.') && out.ends_with(char) {
            continue;
        }
        if out.len() + char.len_utf8() > LONGEST / 3 {
            break;
        }
        out.push(char);
    }
    let trimmed = out.trim_matches([' ', '.', '_']);
    if is_reserved(trimmed) {
        format!("{}_", trimmed.replace('.', "_"))
    } else if is_beside(trimmed) {
        let (stem, extension) = trimmed
            .strip_suffix(".json")
            .map_or((trimmed, ""), |stem| (stem, ".json"));
        format!("{}{extension}", stem.replace('.', "_"))
    } else {
        trimmed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_file_names_are_refused_with_their_correction() {
        let long = "x".repeat(300);
        let short = "x".repeat(66);
        for (name, corrected) in [
            ("../../etc/x", "etc_x"),
            ("/abs", "abs"),
            ("a/b", "a_b"),
            ("a\\b", "a_b"),
            ("what is 2+2?", "what is 2+2"),
            ("x:y*z", "x_y_z"),
            ("CON", "CON_"),
            ("nul.json", "nul_json_"),
            ("Com1", "Com1_"),
            ("lpt\u{b9}.x", "lpt\u{b9}_x_"),
            ("trailing.", "trailing"),
            ("trailing ", "trailing"),
            (" leading", "leading"),
            ("a\u{0}b\nc", "a_b_c"),
            ("a..b", "a.b"),
            ("zero\u{200b}width", "zero_width"),
            (&long, &short),
        ] {
            let error = check("scenario", name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Identity);
            assert_eq!(error.advice(), format!("write `{corrected}`"), "{error}");
            assert_eq!(
                check("scenario", corrected).err().map(|error| error.to_string()),
                None
            );
        }
        for name in ["", "..", "///"] {
            let error = check("scenario", name).unwrap_err();
            assert_eq!(
                error.advice(),
                "give it letters or digits, or leave it out",
                "{name}"
            );
        }
    }

    #[test]
    fn the_names_of_side_files_are_taken() {
        for (name, corrected) in [
            ("a.new", "a_new"),
            ("a.b.New.json", "a_b_New.json"),
            ("a.interrupted", "a_interrupted"),
            ("a.interrupted-12.JSON", "a_interrupted-12_JSON"),
        ] {
            let error = check_end("filename", name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Identity);
            assert_eq!(error.advice(), format!("write `{corrected}`"), "{error}");
            assert!(check_end("filename", corrected).is_ok());
            // Something follows an invoker.
            assert!(check("invoker", name).is_ok());
        }
    }

    #[test]
    fn letters_of_every_script_are_fine() {
        for name in [
            "日本語",
            "Grüße",
            "soft_rule_intent",
            "a.b-c",
            "what is 2+2",
            "CONsole",
            "COM10",
            ".hidden",
            "new",
            "a_new.json",
            "a.newer",
            "a.interrupted-x",
            "a.journal",
        ] {
            assert!(check_end("scenario", name).is_ok(), "{name}");
        }
        // 66 characters, 198 bytes.
        assert!(check("scenario", &"日".repeat(66)).is_ok());
        assert!(check("scenario", &"日".repeat(67)).is_err());
    }

    #[test]
    fn corrections_of_long_names_stay_within_characters() {
        let error = check("filename", &"日".repeat(100)).unwrap_err();
        assert_eq!(error.advice(), format!("write `{}`", "日".repeat(22)));
    }
}
