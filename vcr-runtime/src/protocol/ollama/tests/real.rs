use super::super::{CHAT, GENERATE};
use crate::protocol::testing::real_rows;

#[test]
fn real_recordings_come_back_from_their_canonical_form() {
    let Some(rows) = real_rows(&[&CHAT, &GENERATE], "ollama") else {
        return;
    };
    let differing: Vec<&str> = rows
        .iter()
        .filter(|row| row.difference.is_some())
        .map(|row| row.name.as_str())
        .collect();
    assert!(rows.len() >= 6, "only {} recordings were found", rows.len());
    assert_eq!(differing, [""; 0]);
}
