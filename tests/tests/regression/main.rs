//! What people report about tools that record and replay, one module a class of fault, each on every front where it can
//! occur. The classes about concurrency, D21 and D36, are in `concurrency`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod d01_tee;
mod d02_broken_stream;
mod d03_cut_character;
mod d04_line_ends;
mod d05_comments;
mod d07_tail;
mod d08_parallel_tools;
mod d10_error_in_stream;
mod d11_early_close;
mod d12_writer_and_loader;
mod d13_compressed;
mod d14_binary;
mod d15_spelling;
mod d16_numbers;
mod d18_changed_request;
mod d19_repeats;
mod d20_retry;
mod d22_same_last_message;
mod d23_agent_loop;
mod d25_host_and_headers;
mod d26_redaction_on_both_sides;
mod d27_missing_cassette;
mod d28_settings;
mod d29_record_again;
mod d30_swallowed_miss;
mod d31_leftovers;
mod d32_first_cause;
mod d33_used_up;
mod d34_failing_recording;
mod d35_no_response;
mod d37_broken_files;
mod d37_interrupted_save;
mod d38_names;
mod d39_cases;
mod d44_escapes;
mod d45_time;
mod every_protocol;
