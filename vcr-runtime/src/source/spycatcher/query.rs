//! The canonical form of a query: the same pairs in the same spelling and one order.

/// The pairs, decoded, encoded anew and sorted. Repeated names stay; a name without `=` gets one; empty segments go. Only
/// valid `%XX` is decoded, and a plus is a plus.
pub(super) fn canonical(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|segment| !segment.is_empty())
        .map(|segment| {
            let (name, value) = segment.split_once('=').unwrap_or((segment, ""));
            (respelled(name), respelled(value))
        })
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn respelled(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| Some((digit(*bytes.get(at + 1)?)? << 4) | digit(*bytes.get(at + 2)?)?))
            .flatten();
        at += if escaped.is_some() { 3 } else { 1 };
        encode_into(escaped.unwrap_or(byte), &mut out);
    }
    out
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

fn encode_into(byte: u8, out: &mut String) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        out.push(char::from(byte));
    } else {
        out.push_str(&format!("%{byte:02X}"));
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn pairs_are_respelled_and_sorted() {
        for (query, expected) in [
            ("", ""),
            ("&&", ""),
            ("b=%7e&a=+x&c&=v&&a=%zz&a=1", "=v&a=%25zz&a=%2Bx&a=1&b=~&c="),
            ("a=b=c&a=%2", "a=%252&a=b%3Dc"),
            ("k=%c3%a9&k=é", "k=%C3%A9&k=%C3%A9"),
            ("%41=1&a=2", "A=1&a=2"),
        ] {
            assert_eq!(canonical(query), expected, "{query}");
        }
    }
}
