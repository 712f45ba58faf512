//! Refused input: every message, and the very text that it underlines.

use super::{ALL, run};
use crate::Features;

/// Everything that is wrong: the text underlined, and the message.
fn wrong(args: &str, item: &str, features: Features) -> Vec<(String, String)> {
    let expansion = run(args, item, features);
    let errors = expansion.errors.iter();
    errors
        .map(|error| (error.span().source_text().unwrap_or_default(), error.to_string()))
        .collect()
}

#[track_caller]
fn refuses(args: &str, item: &str, expected: &[(&str, &str)]) {
    let found = wrong(args, item, ALL);
    let found: Vec<_> = found
        .iter()
        .map(|(text, message)| (text.as_str(), message.as_str()))
        .collect();
    assert_eq!(found, expected, "{args} | {item}");
}

/// Rows of arguments, what is underlined, and the message.
#[track_caller]
fn refuse_each(rows: &[(&str, &str, &str)]) {
    for (args, text, message) in rows {
        refuses(args, FUNCTION, &[(text, message)]);
    }
}

const FUNCTION: &str = "async fn f() {}";
const MODES: &str = "`mode` is one of `env`, `replay`, `live`, `auto`, `new`";
const RECORD: &str = "recording is chosen by running with `VCR_MODE=record`, not in source: a committed `record` would call the network on every run; leave `mode` out";
const SPEEDS: &str = r#"`speed` is one of `env`, `max`, `real`, or a factor such as `speed = "4x"`"#;
const FACTOR: &str = "a factor of `speed` is above zero; as fast as possible is `speed = max`";
const TICK: &str = "`tick` is `env` or a number of milliseconds, such as `tick = 100`";
const CHAOS: &str = r#"`chaos` is `env`, a number of milliseconds, or a range such as `chaos = "50..200"`"#;
const TEXT: &str = "`scenario` must be a string literal";
const TRACE: &str = r#"`trace` names takes: `"id"`, `"scenario:id"`, or several of them separated by commas"#;
const FLAVORS: &str = r#"`flavor` is `"current_thread"` or `"multi_thread"`"#;
const THREADS: &str = "`worker_threads` must be a whole number above zero, such as `worker_threads = 2`";
const PATH: &str = "`crate` is the path of the runtime crate, such as `crate = ::my::vcr`";
const ARGUMENTS: &str = "a `#[vcr_test]` takes no argument, or one of type `Vcr` or `&Vcr`";

#[test]
#[rustfmt::skip] // one row a line
fn keys() {
    refuse_each(&[
        (r#"scenaro = "x""#, "scenaro", "unknown `vcr_test` argument `scenaro`; did you mean `scenario`?"),
        (r#"colour = "x""#, "colour", "unknown `vcr_test` argument `colour`; expected one of `scenario`, `invoker`, `filename`, `source`, `override_file`, `child_files`, `fixture_dir`, `mode`, `speed`, `tick`, `chaos`, `trace`, `include_raw`, `matching`, `ignore`, `allow_unused`, `private`, `flavor`, `worker_threads`, `start_paused`, `crate`"),
        ("MODE = env", "MODE", "unknown `vcr_test` argument `MODE`; did you mean `mode`?"),
        (r#"scenario = "a", scenario = "b""#, "scenario", "duplicate `vcr_test` argument `scenario`"),
        ("scenario", "scenario", "expected `scenario = <value>`"),
        ("scenario =", "scenario", "expected `scenario = <value>`"),
        ("crate = ", "crate", "expected `crate = <value>`"),
        (r#""x""#, r#""x""#, r#"expected an argument name; a scenario is written `scenario = "x"`"#),
        ("4", "4", "expected an argument name"),
        ("=", "=", "expected an argument name"),
        ("mode: env", ":", "expected `mode = <value>`"),
        (r#"ignore("/x")"#, r#"("/x")"#, "expected `ignore = <value>`"),
        ("mode == env", "= env", MODES),
        ("mode = env tick = 1", "tick", "expected `,` before `tick`"),
        ("allow_unused private", "private", "expected `,` before `private`"),
        ("record", "record", RECORD),
        ("replay", "replay", "write `mode = replay`"),
        ("max", "max", "write `speed = max`"),
        ("keyed", "keyed", "write `matching = keyed`"),
        ("multi_thread", "multi_thread", r#"write `flavor = "multi_thread"`"#),
        ("private =", "private", "expected `private = <value>`"),
        ("a.b = 1", ".", "expected `a = <value>`"),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn words() {
    refuse_each(&[
        ("mode = record", "record", RECORD),
        (r#"mode = "record""#, r#""record""#, RECORD),
        (r#"mode = "ENV""#, r#""ENV""#, "write the bare word: `mode = env`"),
        (r#"mode = "replay""#, r#""replay""#, "write the bare word: `mode = replay`"),
        ("mode = REPLAY", "REPLAY", "`mode` is one of `env`, `replay`, `live`, `auto`, `new`; did you mean `mode = replay`?"),
        ("mode = repaly", "repaly", "`mode` is one of `env`, `replay`, `live`, `auto`, `new`; did you mean `mode = replay`?"),
        (r#"mode = "liv""#, r#""liv""#, "`mode` is one of `env`, `replay`, `live`, `auto`, `new`; did you mean `mode = live`?"),
        ("mode = other", "other", MODES),
        ("mode = 1", "1", MODES),
        (r#"mode = env!("X")"#, r#"env!("X")"#, MODES),
        ("mode = Mode::Env", "Mode::Env", MODES),
        (r#"matching = "keyed""#, r#""keyed""#, "write the bare word: `matching = keyed`"),
        ("matching = sequental", "sequental", "`matching` is one of `env`, `sequential`, `keyed`, `order`; did you mean `matching = sequential`?"),
        (r#"include_raw = "true""#, r#""true""#, "write the bare word: `include_raw = true`"),
        ("include_raw = yes", "yes", "`include_raw` is one of `env`, `auto`, `true`, `false`"),
        ("include_raw = 1", "1", "`include_raw` is one of `env`, `auto`, `true`, `false`"),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn speed() {
    refuse_each(&[
        (r#"speed = "MAX""#, r#""MAX""#, "write the bare word: `speed = max`"),
        ("speed = rael", "rael", r#"`speed` is one of `env`, `max`, `real`, or a factor such as `speed = "4x"`; did you mean `speed = real`?"#),
        ("speed = fast", "fast", SPEEDS),
        ("speed = 0", "0", FACTOR),
        (r#"speed = "0x""#, r#""0x""#, FACTOR),
        ("speed = -1", "-1", FACTOR),
        (r#"speed = "fast""#, r#""fast""#, SPEEDS),
        (r#"speed = "x""#, r#""x""#, SPEEDS),
        ("speed = 4ms", "4ms", SPEEDS),
        ("speed = [1]", "[1]", SPEEDS),
        (r#"speed = "infx""#, r#""infx""#, SPEEDS),
        ("speed = 1e999", "1e999", SPEEDS),
        (r#"speed = "-4x""#, r#""-4x""#, SPEEDS),
        ("speed = 2000000", "2000000", "a factor of `speed` lies between `0.001x` and `1000000x`"),
        (r#"speed = "0.0001x""#, r#""0.0001x""#, "a factor of `speed` lies between `0.001x` and `1000000x`"),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn tick_and_chaos() {
    refuse_each(&[
        ("tick = 86400001", "86400001", "`tick` is at most a day: 86400000 milliseconds"),
        (r#"chaos = "1..1e9""#, r#""1..1e9""#, "`chaos` is at most a day: 86400000 milliseconds"),
        ("tick = -1", "-1", "`tick` must not be negative"),
        (r#"tick = "100""#, r#""100""#, "write it without quotes: `tick = 100`"),
        ("tick = 100ms", "100ms", "`tick` counts milliseconds and takes no unit: `tick = 100`"),
        ("tick = soon", "soon", TICK),
        (r#"tick = "soon""#, r#""soon""#, TICK),
        ("tick = [1]", "[1]", TICK),
        ("tick = 1e999", "1e999", TICK),
        (r#"chaos = "200..50""#, r#""200..50""#, r#"the range is upside down: `chaos = "50..200"`"#),
        ("chaos = 50..200", "50..200", CHAOS),
        (r#"chaos = "50""#, r#""50""#, "write it without quotes: `chaos = 50`"),
        (r#"chaos = "-5..10""#, r#""-5..10""#, CHAOS),
        (r#"chaos = "5..""#, r#""5..""#, CHAOS),
        (r#"chaos = "5..=10""#, r#""5..=10""#, CHAOS),
        ("chaos = -5", "-5", "`chaos` must not be negative"),
        ("chaos = wild", "wild", CHAOS),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn texts() {
    refuse_each(&[
        ("scenario = x", "x", r#"`scenario` must be a string literal: `scenario = "x"`"#),
        ("scenario = 1", "1", TEXT),
        (r#"scenario = b"x""#, r#"b"x""#, TEXT),
        (r#"scenario = "a" "b""#, r#""a" "b""#, TEXT),
        (r#"scenario = concat!("a", "b")"#, r#"concat!("a", "b")"#, TEXT),
        ("scenario = env", "env", r#"`scenario` must be a string literal: `scenario = "env"`"#),
        ("source = frozen", "frozen", r#"`source` must be a string literal: `source = "frozen"`"#),
        (r#"source = "a.jsonl""#, r#""a.jsonl""#, r#"`source` lacks its kind: `source = "frozen:a.jsonl"`"#),
        (r#"source = "frozen""#, r#""frozen""#, r#"`source` names a file of the fixture directory behind its kind: `source = "frozen:answers.jsonl"`"#),
        (r#"source = "frozen:""#, r#""frozen:""#, r#"`source` names a file of the fixture directory behind its kind: `source = "frozen:answers.jsonl"`"#),
        (r#"source = "frozn:a""#, r#""frozn:a""#, r#"no source is called `frozn`; did you mean `source = "frozen:a"`?"#),
        (r#"source = "http://a""#, r#""http://a""#, "no source is called `http`; there are `frozen`, `session`"),
        (r#"source = "sesion:a""#, r#""sesion:a""#, r#"no source is called `sesion`; did you mean `source = "session:a"`?"#),
        (r#"source = "session:a?pace_m=b""#, r#""session:a?pace_m=b""#, "a session script has no option `pace_m`; did you mean `pace_ms`?"),
        (r#"source = "session:a?x=b""#, r#""session:a?x=b""#, "a session script has no option `x`; it has `pace_ms`"),
        (r#"source = "session:a?child=b""#, r#""session:a?child=b""#, r#"the logs of children are a key of their own: `child_files = ["b"]`"#),
        (r#"source = "session:a?override=b""#, r#""session:a?override=b""#, r#"an override document is a key of its own: `override_file = "b"`"#),
        (r#"override_file = "../b""#, r#""../b""#, "the path of `override_file` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes"),
        (r#"override_file = "/b""#, r#""/b""#, "the path of `override_file` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes"),
        ("override_file = b", "b", r#"`override_file` must be a string literal: `override_file = "b"`"#),
        ("override_file", "override_file", "expected `override_file = <value>`"),
        (r#"source = "frozen:a", override_file = "b""#, "override_file", "`override_file` overrides a cassette or a session script; frozen answers have an `error` of their own"),
        (r#"source = "session:a", child_files = "b""#, r#""b""#, r#"`child_files` is a list: `child_files = ["b"]`"#),
        (r#"source = "session:a", child_files = 3"#, "3", r#"`child_files` is a list of files, such as `child_files = ["child.jsonl"]`"#),
        (r#"source = "session:a", child_files = [b, "c"]"#, "b", r#"a file is a string literal, such as `"child.jsonl"`"#),
        (r#"source = "session:a", child_files = ["c", "./d"]"#, r#""./d""#, "the path of `child_files` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes"),
        (r#"child_files = ["b"]"#, "child_files", r#"`child_files` are children of a session script: `source = "session:parent.jsonl"`"#),
        (r#"source = "frozen:a", child_files = ["b"]"#, "child_files", r#"`child_files` are children of a session script: `source = "session:parent.jsonl"`"#),
        (r#"source = "session:a?pace_ms=3600001""#, r#""session:a?pace_ms=3600001""#, "`pace_ms` is a whole number from 0 to 3600000: `pace_ms=20`"),
        (r#"source = "frozen:../a""#, r#""frozen:../a""#, "the path of `source` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes"),
        (r#"source = "frozen:/a""#, r#""frozen:/a""#, "the path of `source` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes"),
        (r#"source = "frozen:a?max_call=1""#, r#""frozen:a?max_call=1""#, "frozen answers have no ceiling `max_call`; did you mean `max_calls`?"),
        (r#"source = "frozen:a?max_calls=x""#, r#""frozen:a?max_calls=x""#, "`max_calls` is a number above 0: `max_calls=40`"),
        (r#"source = "frozen:a?max_entries=10001""#, r#""frozen:a?max_entries=10001""#, "`max_entries` may be lowered and not raised; it is at most 10000"),
        (r#"fixture_dir = ["a"]"#, r#"["a"]"#, "`fixture_dir` must be a string literal"),
        (r#"fixture_dir = """#, r#""""#, r#"`fixture_dir` must name a directory, such as `fixture_dir = "tests/fixtures"`"#),
        ("fixture_dir = x", "x", r#"`fixture_dir` must be a string literal: `fixture_dir = "x"`"#),
        (r#"fixture_dir = "a\nb""#, r#""a\nb""#, r#"`fixture_dir` must name a directory, such as `fixture_dir = "tests/fixtures"`"#),
        (r#"trace = """#, r#""""#, TRACE),
        (r#"trace = ", ""#, r#"", ""#, TRACE),
        (r#"trace = "a, b:""#, r#""a, b:""#, TRACE),
        (r#"trace = ":a""#, r#"":a""#, TRACE),
        ("trace = x", "x", r#"`trace` must be a string literal: `trace = "x"`"#),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn names() {
    refuse_each(&[
        (r#"scenario = """#, r#""""#, "`scenario` cannot name a file: it is empty"),
        (r#"scenario = "  ""#, r#""  ""#, "`scenario` cannot name a file: it is empty"),
        (r#"scenario = "a/b""#, r#""a/b""#, r#"`scenario` cannot name a file: `/` separates directories; write `scenario = "a_b"`"#),
        (r#"scenario = "../../etc/passwd""#, r#""../../etc/passwd""#, r#"`scenario` cannot name a file: `/` separates directories; write `scenario = "etc_passwd"`"#),
        (r#"scenario = "a\\b""#, r#""a\\b""#, r#"`scenario` cannot name a file: `\` separates directories; write `scenario = "a_b"`"#),
        (r#"scenario = "a..b""#, r#""a..b""#, r#"`scenario` cannot name a file: `..` leads out of a directory; write `scenario = "a_b"`"#),
        (r#"scenario = "a:b""#, r#""a:b""#, r#"`scenario` cannot name a file: `:` cannot stand in a file name everywhere; write `scenario = "a_b"`"#),
        (r#"scenario = "a\nb""#, r#""a\nb""#, r#"`scenario` cannot name a file: it contains the invisible character U+000A; write `scenario = "a_b"`"#),
        (r#"scenario = "why?""#, r#""why?""#, r#"`scenario` cannot name a file: `?` cannot stand in a file name everywhere; write `scenario = "why"`"#),
        (r#"scenario = "CON""#, r#""CON""#, r#"`scenario` cannot name a file: Windows reserves it for a device; write `scenario = "CON_"`"#),
        (r#"scenario = "lpt1.txt""#, r#""lpt1.txt""#, r#"`scenario` cannot name a file: Windows reserves it for a device; write `scenario = "lpt1_.txt"`"#),
        (r#"scenario = "a.new""#, r#""a.new""#, r#"`scenario` cannot name a file: a recording keeps a file of that name beside another cassette; write `scenario = "a_new"`"#),
        (r#"filename = "a.interrupted-2.json""#, r#""a.interrupted-2.json""#, r#"`filename` cannot name a file: a recording keeps a file of that name beside another cassette; write `filename = "a_interrupted-2.json"`"#),
        (r#"scenario = "end.""#, r#""end.""#, r#"`scenario` cannot name a file: it begins or ends with a space, or ends with a dot, which Windows drops; write `scenario = "end"`"#),
        (r#"scenario = "end ""#, r#""end ""#, r#"`scenario` cannot name a file: it begins or ends with a space, or ends with a dot, which Windows drops; write `scenario = "end"`"#),
        (r#"scenario = " start""#, r#"" start""#, r#"`scenario` cannot name a file: it begins or ends with a space, or ends with a dot, which Windows drops; write `scenario = "start"`"#),
        (r#"scenario = "/""#, r#""/""#, "`scenario` cannot name a file: `/` separates directories"),
        ("scenario = \"a\\u{200b}b\"", "\"a\\u{200b}b\"", r#"`scenario` cannot name a file: it contains the invisible character U+200B; write `scenario = "a_b"`"#),
        (r#"invoker = "a::""#, r#""a::""#, r#"`invoker` cannot name a file: it begins or ends with a space, or ends with a dot, which Windows drops; write `invoker = "a"`"#),
        (r#"invoker = "a:b""#, r#""a:b""#, r#"`invoker` cannot name a file: `:` cannot stand in a file name everywhere; write `invoker = "a_b"`"#),
        (r#"invoker = "a::../b""#, r#""a::../b""#, r#"`invoker` cannot name a file: `/` separates directories; write `invoker = "a::__b"`"#),
        (r#"filename = "dir/x.json""#, r#""dir/x.json""#, r#"`filename` cannot name a file: `/` separates directories; write `filename = "dir_x.json"`"#),
        (r#"filename = ".json""#, r#"".json""#, "`filename` cannot name a file: it is empty"),
        (r#"filename = "nul.json""#, r#""nul.json""#, r#"`filename` cannot name a file: Windows reserves it for a device; write `filename = "nul_.json"`"#),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn pointers() {
    refuse_each(&[
        (r#"ignore = "/x""#, r#""/x""#, r#"`ignore` is a list: `ignore = ["/x"]`"#),
        ("ignore = x", "x", r#"`ignore` is a list of JSON pointers, such as `ignore = ["/metadata/run_id"]`"#),
        (r#"ignore = ["a.b[0].c"]"#, r#""a.b[0].c""#, r#"a JSON pointer begins with `/`; write `"/a/b/0/c"`"#),
        (r#"ignore = ["$.a.b"]"#, r#""$.a.b""#, r#"a JSON pointer begins with `/`; write `"/a/b"`"#),
        (r#"ignore = [""]"#, r#""""#, "a JSON pointer begins with `/`"),
        (r#"ignore = ["/a~b"]"#, r#""/a~b""#, r#"in a JSON pointer `~` is written `~0` (and a `/` inside a name `~1`); write `"/a~0b"`"#),
        (r#"ignore = ["/a~"]"#, r#""/a~""#, r#"in a JSON pointer `~` is written `~0` (and a `/` inside a name `~1`); write `"/a~0"`"#),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn flags() {
    refuse_each(&[
        (r#"allow_unused = "true""#, r#""true""#, "write it without quotes: `allow_unused = true`"),
        ("private = 1", "1", "`private` is `true` or `false`; `private` alone means `true`"),
        ("start_paused = yes", "yes", "`start_paused` is `true` or `false`; `start_paused` alone means `true`"),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn runtime() {
    refuse_each(&[
        ("flavor = multi_thread", "multi_thread", r#"`flavor` must be a string literal: `flavor = "multi_thread"`"#),
        (r#"flavor = "multithread""#, r#""multithread""#, r#"`flavor` is `"current_thread"` or `"multi_thread"`; did you mean `flavor = "multi_thread"`?"#),
        (r#"flavor = "rayon""#, r#""rayon""#, FLAVORS),
        ("flavor = 2", "2", FLAVORS),
        ("worker_threads = 2", "worker_threads", r#"`worker_threads` needs several threads: `#[vcr_test(flavor = "multi_thread", worker_threads = 2)]`"#),
        (r#"worker_threads = 2, flavor = "current_thread""#, "worker_threads", r#"`worker_threads` needs several threads: `#[vcr_test(flavor = "multi_thread", worker_threads = 2)]`"#),
        (r#"worker_threads = 0, flavor = "multi_thread""#, "0", THREADS),
        (r#"worker_threads = "2", flavor = "multi_thread""#, r#""2""#, THREADS),
        (r#"worker_threads = 1.5, flavor = "multi_thread""#, "1.5", THREADS),
        (r#"worker_threads = 2, flavor = "mult""#, r#""mult""#, FLAVORS),
        (r#"start_paused, flavor = "multi_thread""#, "start_paused", r#"`start_paused` needs a single thread: leave `flavor = "multi_thread"` out"#),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn crates() {
    refuse_each(&[
        ("crate = 1", "1", PATH),
        (r#"crate = "a b""#, r#""a b""#, PATH),
        ("crate = a<b>", "a<b>", PATH),
        (r#"crate = "::""#, r#""::""#, PATH),
    ]);
}

#[test]
#[rustfmt::skip] // one row a line
fn several_at_once() {
    refuses("mode, tick", FUNCTION, &[("mode", "expected `mode = <value>`"), ("tick", "expected `tick = <value>`")]);
    refuses(r#"scenaro = "a", mode = 1, tick"#, FUNCTION, &[("scenaro", "unknown `vcr_test` argument `scenaro`; did you mean `scenario`?"), ("1", MODES), ("tick", "expected `tick = <value>`")]);
    refuses(r#"ignore = ["a", 1, x, "/b~2"]"#, FUNCTION, &[(r#""a""#, r#"a JSON pointer begins with `/`; write `"/a"`"#), ("1", r#"a JSON pointer is a string literal, such as `"/metadata/run_id"`"#), ("x", r#"a JSON pointer is a string literal, such as `"/metadata/run_id"`"#), (r#""/b~2""#, r#"in a JSON pointer `~` is written `~0` (and a `/` inside a name `~1`); write `"/b~02"`"#)]);
}

#[test]
#[rustfmt::skip] // one row a line
fn items() {
    for (args, item, expected) in [
        (r#"flavor = "multi_thread", start_paused"#, "fn f() {}", &[("start_paused", r#"`start_paused` needs a single thread: leave `flavor = "multi_thread"` out"#), ("flavor", "`flavor` needs an `async fn`: a plain `fn` runs without a runtime"), ("start_paused", "`start_paused` needs an `async fn`: a plain `fn` runs without a runtime")][..]),
        ("", "async fn f(x: u32) {}", &[("x: u32", ARGUMENTS)][..]),
        ("", "async fn f(a: Vcr, b: &Vcr) {}", &[("b: &Vcr", "one `Vcr` is enough: a `#[vcr_test]` has one session; clone the handle instead")][..]),
        ("", "async fn f(a: &mut Vcr) {}", &[("a: &mut Vcr", ARGUMENTS)][..]),
        ("", "async fn f(a: &'static Vcr, x: String) {}", &[("a: &'static Vcr", ARGUMENTS), ("x: String", ARGUMENTS)][..]),
        ("", "async fn f(a: Vcr<u8>) {}", &[("a: Vcr<u8>", ARGUMENTS)][..]),
        ("", "async fn f(&self) {}", &[("&self", "`#[vcr_test]` goes on a free function, without `self`")][..]),
        ("", "async fn f<'a, T>(a: Vcr) where T: Copy {}", &[("<'a, T>", "a test cannot be generic: nothing chooses its parameters"), ("where T: Copy", "a test cannot have a `where` clause")][..]),
        ("", r#"const unsafe extern "C" fn f() {}"#, &[("const", "a test cannot be `const`"), ("unsafe", "a test cannot be `unsafe`; use a block inside"), (r#"extern "C""#, "a test cannot be `extern`")][..]),
        ("", r#"unsafe extern "C" fn f(a: Vcr, ...) {}"#, &[("unsafe", "a test cannot be `unsafe`; use a block inside"), (r#"extern "C""#, "a test cannot be `extern`"), ("...", "a test cannot be variadic")][..]),
        ("", "struct S;", &[("struct", "`#[vcr_test]` goes on a function: expected `fn`")][..]),
        ("", "fn f();", &[(";", "`#[vcr_test]` needs a function with a body")][..]),
        ("", "mod m {}", &[("mod", "`#[vcr_test]` goes on a function: expected `fn`")][..]),
        ("", "async", &[("", "`#[vcr_test]` goes on a function: unexpected end of input, expected `fn`")][..]),
        ("", "#[tokio::test] async fn f() {}", &[("tokio::test", r#"`#[tokio::test]` and `#[vcr_test]` both start a runtime: remove it (several threads: `#[vcr_test(flavor = "multi_thread")]`)"#)][..]),
        ("", r#"#[tokio::test(flavor = "multi_thread", worker_threads = 2, unhandled_panic = "ignore")] async fn f() {}"#, &[("tokio::test", r#"`#[tokio::test]` and `#[vcr_test]` both start a runtime: remove it and write `#[vcr_test(flavor = "multi_thread", worker_threads = 2)]`"#)][..]),
        ("", "#[async_std::test] async fn f() {}", &[("async_std::test", r#"`#[async_std::test]` and `#[vcr_test]` both start a runtime: remove it (several threads: `#[vcr_test(flavor = "multi_thread")]`)"#)][..]),
        ("", "#[rstest] #[case(1)] async fn f(#[case] n: u32) {}", &[("rstest", "put `#[rstest]` above `#[vcr_test]`: it makes the cases, and each case is a test of its own")][..]),
        ("", "#[test_case(1)] fn f(n: u32) {}", &[("test_case", "put `#[test_case]` above `#[vcr_test]`: it makes the cases, and each case is a test of its own")][..]),
        ("", "#[vcr_test] async fn f() {}", &[("vcr_test", "duplicate `#[vcr_test]`")][..]),
        ("", "#[vcr::test(mode = env)] async fn f() {}", &[("vcr::test", "duplicate `#[vcr_test]`")][..]),
        ("", r#"#[::core::prelude::v1::test] fn f() { let body = async {}; { return Builder::new_current_thread().build().expect("Failed building the Runtime").block_on(body); } }"#, &[("::core::prelude::v1::test", r#"`#[tokio::test]` above `#[vcr_test]` has already turned the function into a plain one with a runtime of its own: remove `#[tokio::test]` (several threads: `#[vcr_test(flavor = "multi_thread")]`)"#)][..]),
        ("", "#[test] fn f() { async fn f() {} async_std::task::block_on(async { f().await }) }", &[("test", r#"`#[async_std::test]` above `#[vcr_test]` has already turned the function into a plain one with a runtime of its own: remove `#[async_std::test]` (several threads: `#[vcr_test(flavor = "multi_thread")]`)"#)][..]),
        ("scenaro = 1, tick = -1", "#[tokio::test] async fn f(x: u32) {}", &[("scenaro", "unknown `vcr_test` argument `scenaro`; did you mean `scenario`?"), ("-1", "`tick` must not be negative"), ("tokio::test", r#"`#[tokio::test]` and `#[vcr_test]` both start a runtime: remove it (several threads: `#[vcr_test(flavor = "multi_thread")]`)"#), ("x: u32", ARGUMENTS)][..]),
    ] {
        refuses(args, item, expected);
    }
}

#[test]
fn long_names() {
    let fits = "é".repeat(60);
    assert_eq!(wrong(&format!("scenario = {fits:?}"), FUNCTION, ALL), []);
    assert_eq!(wrong(&format!("filename = \"{fits}.json\""), FUNCTION, ALL), []);
    let long = format!("a{fits}");
    let shorter = format!("a{}", "é".repeat(59));
    let message = format!(
        "`scenario` cannot name a file: it has 121 bytes, the limit is 120; write `scenario = {shorter:?}`"
    );
    refuses(
        &format!("scenario = {long:?}"),
        FUNCTION,
        &[(&format!("{long:?}"), &message)],
    );
}

#[test]
fn names_that_only_look_odd() {
    for args in [
        "scenario = \"console\"",
        "scenario = \"com10\"",
        "scenario = \".hidden, (1) + 2\"",
        "invoker = \"my_crate::tests.case_1\"",
        "filename = \"x.json.json\"",
        "fixture_dir = \"../..\"",
        "trace = \"0a0b, soft rule:0c0d,,\"",
    ] {
        assert_eq!(wrong(args, FUNCTION, ALL), [], "{args}");
    }
}

#[test]
fn features_that_are_off() {
    let none = Features {
        multi_thread: false,
        paused_time: false,
    };
    let found = wrong("flavor = \"multi_thread\", worker_threads = 2", FUNCTION, none);
    let message = "`flavor = \"multi_thread\"` needs the feature `multi-thread` of vcr-runtime";
    assert_eq!(found, [("\"multi_thread\"".to_owned(), message.to_owned())]);
    let found = wrong("start_paused = true", FUNCTION, none);
    let message = "`start_paused` needs the feature `paused-time` of vcr-runtime";
    assert_eq!(found, [("start_paused".to_owned(), message.to_owned())]);
    assert_eq!(
        wrong(
            "start_paused = false, flavor = \"current_thread\"",
            FUNCTION,
            none
        ),
        []
    );
}
