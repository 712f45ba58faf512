//! Wrong keys, all reported at once.

use vcr_runtime::vcr_test;

#[vcr_test(scenaro = "x", colour = 1, mode, scenario = "a", scenario = "b" tick = 5, "name")]
async fn keys() {}

#[vcr_test(scenario = )]
async fn no_value() {}

#[vcr_test(replay, keyed, record)]
async fn bare_words() {}

fn main() {}
