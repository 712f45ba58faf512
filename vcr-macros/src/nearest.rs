//! "Did you mean": the nearest name of a set, and how a set is written out.

/// The name nearest to what was written, if it is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let written = written.to_lowercase();
    names
        .iter()
        .map(|name| (distance(&written, name), *name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .map(|(_, name)| name)
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        rows[i][0] = i;
        for j in 1..=right.len() {
            let same = left[i - 1] == right[j - 1];
            let mut best = (rows[i - 1][j - 1] + usize::from(!same))
                .min(rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

/// `` `a`, `b`, `c` ``
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn counts_edits() {
        for (left, right, edits) in [
            ("", "abc", 3),
            ("mode", "mode", 0),
            ("mdoe", "mode", 1),
            ("scenaro", "scenario", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(left, right), edits, "{left} {right}");
            assert_eq!(distance(right, left), edits, "{right} {left}");
        }
    }

    #[test]
    fn suggests_only_what_is_near() {
        let keys = ["scenario", "mode", "tick"];
        assert_eq!(nearest("SCENARIO", &keys), Some("scenario"));
        assert_eq!(nearest("mod", &keys), Some("mode"));
        assert_eq!(nearest("colour", &keys), None);
        assert_eq!(nearest("made_up", &keys), None);
    }
}
