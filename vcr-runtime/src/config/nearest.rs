/// The candidate that is most probably meant by `word`, if one is close enough to say so.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = word.trim().to_lowercase().chars().collect();
    // Longer texts are no misspelt words, and the distance is quadratic.
    if wanted.is_empty() || wanted.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(wanted.len()).div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance, upper and lower case being equal.
fn distance(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (line, wanted) in to.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, found) in from.iter().enumerate() {
            let replaced = diagonal + usize::from(wanted != *found);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[from.len()]
}

/// ", did you mean `x`?" or nothing.
pub(crate) fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |found| format!(", did you mean `{found}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_far_off() {
        let modes = ["live", "record", "replay", "auto", "new"];
        for (word, meant) in [
            ("replya", Some("replay")),
            ("RECROD", Some("record")),
            ("atuo", Some("auto")),
            ("nwe", None),
            ("true", None),
            ("", None),
            ("42", None),
        ] {
            assert_eq!(nearest(word, modes), meant, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(100), modes), None);
    }

    #[test]
    fn counts_insertions_removals_and_changes() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("kitten"), "sitting"), 3);
        assert_eq!(distance(&chars(""), "abc"), 3);
        assert_eq!(distance(&chars("abc"), ""), 3);
    }
}
