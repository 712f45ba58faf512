//! Timing and printing.

use std::time::Duration;

/// The median of some samples.
pub fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

pub fn head() {
    println!(
        "{:<44} {:>12} {:>12} {:>7}   budget",
        "what", "ours", "floor", "ratio"
    );
}

/// One row: our median, the floor's, their ratio, and what is allowed.
pub fn row(what: &str, ours: Duration, floor: Duration, budget: &str) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64().max(1e-12);
    println!(
        "{what:<44} {:>12} {:>12} {ratio:>7.2}   {budget}",
        text(ours),
        text(floor)
    );
}

pub fn text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    match nanos {
        0..10_000 => format!("{nanos} ns"),
        10_000..10_000_000 => format!("{:.1} us", duration.as_secs_f64() * 1e6),
        _ => format!("{:.1} ms", duration.as_secs_f64() * 1e3),
    }
}

/// A text of about `size` bytes that no compressor and no comparison gets through cheaply.
pub fn prose(seed: usize, size: usize) -> String {
    let mut text = String::with_capacity(size + 16);
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    while text.len() < size {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(
            [
                "river ",
                "of ",
                "words ",
                "and ",
                "numbers ",
                "17 ",
                "\"quoted\" ",
                "end. ",
            ][(state >> 61) as usize],
        );
    }
    text
}
