//! Loading frozen answers, beside parsing each line of the same file into a `serde_json::Value`; and the memory it takes.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use vcr_runtime::probe_frozen;

use crate::table::{median, prose, row};

/// Just below the ceiling of a file.
const SIZE: usize = 7_990_000;

pub fn run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("answers.jsonl");
    for (what, answer) in [("answers of 20 bytes", 20), ("answers of 1.5 kB", 1_500)] {
        std::fs::write(&path, lines(answer)).unwrap();
        if answer == 20 {
            // The more answers, the more there is to remember; and a second look would find the first one's memory.
            peak(&format!("memory for it, {what}"), &path, || {
                black_box(probe_frozen(directory.path(), "frozen:answers.jsonl").unwrap());
            });
        }
        measure(directory.path(), &path, what);
    }
}

/// As many entries as there may be, or as fit; the rest of the size is answers in sequences.
fn lines(answer: usize) -> String {
    let mut text = String::with_capacity(SIZE);
    let mut entry = 0;
    while text.len() < SIZE - 60 * answer.max(40) {
        let responses: Vec<String> = (0..40.min(SIZE / 200 / answer).max(1))
            .map(|number| {
                let content = serde_json::Value::from(prose(entry * 64 + number, answer));
                format!("{{\"content\":{content}}}")
            })
            .collect();
        let _ = writeln!(
            text,
            "{{\"schema_version\":1,\"request_hash\":\"sha256:{entry:064x}\",\"responses\":[{}]}}",
            responses.join(",")
        );
        entry += 1;
    }
    text
}

fn measure(directory: &Path, path: &Path, what: &str) {
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let start = Instant::now();
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            black_box(serde_json::from_str::<serde_json::Value>(line).unwrap());
        }
        floor.push(start.elapsed());
        let start = Instant::now();
        black_box(probe_frozen(directory, "frozen:answers.jsonl").unwrap());
        ours.push(start.elapsed());
    }
    let what = format!("load 8 MB frozen, {what}");
    row(&what, median(&mut ours), median(&mut floor), "<= 150 ms");
}

/// How far the process's memory rises over what it was when a file is loaded, where the system can say.
pub fn peak(what: &str, path: &Path, load: impl FnOnce()) {
    // `5` starts the count of the most memory anew (proc(5)).
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        return;
    }
    let before = most_kb();
    load();
    let size = std::fs::metadata(path).unwrap().len() / 1_000;
    let rise = most_kb().saturating_sub(before) * 1_024 / 1_000;
    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    let ratio = rise as f64 / size as f64;
    println!("{:<44} {:>9} kB {:>9} kB {ratio:>7.2}   < 3.0", what, rise, size);
}

fn most_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
