//! Names that become part of a file name, and JSON pointers: checked here so that a bad one never reaches a test run.

/// Longer names meet the limits of file systems once prefix, invoker and suffix are added.
const LONGEST: usize = 120;

/// What a name is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Scenario,
    /// Its `::` and `.` are flattened to `_`, so it may contain them.
    Invoker,
    /// Its `.json` is added when absent.
    Filename,
}

/// Why a name cannot be used, and the nearest one that can.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: String,
    /// Absent where nothing usable is left of the name.
    pub(crate) corrected: Option<String>,
}

/// Checks a name that becomes (part of) a file name on every platform.
pub(crate) fn check(name: &str, purpose: Use) -> Result<(), Refused> {
    let Some(reason) = fault(name, purpose) else {
        return Ok(());
    };
    let corrected = correct(name, purpose);
    Err(Refused {
        reason,
        corrected: fault(&corrected, purpose).is_none().then_some(corrected),
    })
}

fn fault(name: &str, purpose: Use) -> Option<String> {
    let plain = plain(name, purpose);
    if plain.trim().is_empty() {
        return Some("it is empty".into());
    }
    if let Some(bad) = plain.chars().find(|character| is_bad(*character)) {
        return Some(match bad {
            '/' | '\\' => format!("`{bad}` separates directories"),
            _ if bad.is_control() || is_invisible(bad) => {
                format!("it contains the invisible character U+{:04X}", u32::from(bad))
            }
            _ => format!("`{bad}` cannot stand in a file name everywhere"),
        });
    }
    if plain.contains("..") {
        return Some("`..` leads out of a directory".into());
    }
    if plain.ends_with(['.', ' ']) || plain.starts_with(' ') {
        return Some("it begins or ends with a space, or ends with a dot, which Windows drops".into());
    }
    if is_reserved(&plain) {
        return Some("Windows reserves it for a device".into());
    }
    if purpose != Use::Invoker && is_beside(&plain) {
        return Some("a recording keeps a file of that name beside another cassette".into());
    }
    if plain.len() > LONGEST {
        return Some(format!("it has {} bytes, the limit is {LONGEST}", plain.len()));
    }
    None
}

/// The name as the file system will see it.
fn plain(name: &str, purpose: Use) -> String {
    match purpose {
        Use::Scenario => name.to_owned(),
        Use::Invoker => name.replace("::", "."),
        Use::Filename => name.strip_suffix(".json").unwrap_or(name).to_owned(),
    }
}

/// Separators, what Windows refuses, and characters that cannot be seen: the runtime's own rule.
fn is_bad(character: char) -> bool {
    character.is_control()
        || matches!(character, '/' | '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*')
        || is_invisible(character)
}

/// Spaces without width, and marks that turn the direction of the text.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// `a.new`, `a.interrupted` and `a.interrupted-2` stand beside the cassette `a`: the runtime's own rule.
fn is_beside(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let Some((_, last)) = name.rsplit_once('.') else {
        return false;
    };
    let number = last.strip_prefix("interrupted-");
    matches!(last, "new" | "interrupted")
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_reserved(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end()
        .to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut rest = rest.chars();
            matches!(rest.next(), Some('0'..='9' | '¹' | '²' | '³')) && rest.next().is_none()
        })
    };
    matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || numbered("COM")
        || numbered("LPT")
}

fn correct(name: &str, purpose: Use) -> String {
    let (stem, suffix) = match purpose {
        Use::Filename => name
            .strip_suffix(".json")
            .map_or((name, ""), |stem| (stem, ".json")),
        Use::Scenario | Use::Invoker => (name, ""),
    };
    let parts = match purpose {
        Use::Invoker => stem.split("::").collect(),
        Use::Scenario | Use::Filename => vec![stem],
    };
    let cleaned: Vec<String> = parts
        .into_iter()
        .map(|part| part.replace("..", "_").replace(is_bad, "_"))
        .collect();
    let mut fixed = cleaned
        .join("::")
        .trim()
        .trim_matches('_')
        .trim_end_matches(['.', ' ', ':'])
        .to_owned();
    if is_reserved(&fixed) {
        let at = fixed.find('.').unwrap_or(fixed.len());
        fixed.insert(at, '_');
    }
    if purpose != Use::Invoker && is_beside(&fixed) {
        fixed = fixed.replace('.', "_");
    }
    let mut end = fixed.len().min(LONGEST);
    while !fixed.is_char_boundary(end) {
        end -= 1;
    }
    fixed.truncate(end);
    let fixed = fixed.trim_end_matches(['.', ' ']);
    format!("{fixed}{suffix}")
}

/// Checks an RFC 6901 JSON pointer.
pub(crate) fn check_pointer(pointer: &str) -> Result<(), Refused> {
    if !pointer.starts_with('/') {
        let path = pointer
            .trim_start_matches(['$', '.', '#'])
            .replace(['.', '['], "/")
            .replace(']', "");
        return Err(Refused {
            reason: "a JSON pointer begins with `/`".into(),
            corrected: (!path.is_empty()).then(|| format!("/{}", path.trim_start_matches('/'))),
        });
    }
    let mut corrected = String::new();
    let mut rest = pointer;
    while let Some(at) = rest.find('~') {
        corrected.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        if !rest.starts_with(['0', '1']) {
            corrected.push('0');
        }
    }
    corrected.push_str(rest);
    if corrected == pointer {
        return Ok(());
    }
    Err(Refused {
        reason: "in a JSON pointer `~` is written `~0` (and a `/` inside a name `~1`)".into(),
        corrected: Some(corrected),
    })
}
