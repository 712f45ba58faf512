//! The attribute of `vcr-runtime`. Use it through that crate, which re-exports it: the expansion calls into the same
//! version of it.

mod args;
mod expand;
mod item;
mod names;
mod nearest;
mod source;
#[cfg(test)]
mod tests;
mod value;

use proc_macro::TokenStream;

/// What vcr-runtime was built with.
#[derive(Clone, Copy)]
struct Features {
    multi_thread: bool,
    paused_time: bool,
}

const FEATURES: Features = Features {
    multi_thread: cfg!(feature = "multi-thread"),
    paused_time: cfg!(feature = "paused-time"),
};

/// Makes a function a test whose calls to language models are answered from a cassette.
///
/// ```rust,ignore
/// use vcr_runtime::{Vcr, vcr_test};
///
/// #[vcr_test]
/// async fn routes_to_json(vcr: Vcr) -> anyhow::Result<()> {
///     let agent = Agent::new(vcr.base_url(Protocol::OpenAi)?);
///     assert_eq!(agent.route("as a table, please").await?, Route::Json);
///     Ok(())
/// }
/// ```
///
/// `VCR_MODE=record cargo test` calls the provider once and writes the cassette; `cargo test` replays it. A replaying
/// test fails when the program asks for something else than was recorded, or no longer asks for all of it.
///
/// # Equivalent code without the attribute
///
/// ```rust,ignore
/// #[test]
/// fn routes_to_json() -> anyhow::Result<()> {
///     async fn routes_to_json(vcr: Vcr) -> anyhow::Result<()> {
///         // The body, unchanged.
///     }
///     tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
///         let vcr = Vcr::builder().invoker(module_path!()).scenario("routes_to_json").open()?;
///         vcr.scope(routes_to_json(vcr.clone())).await?;
///         vcr.finish().await?;
///         Ok(())
///     })
/// }
/// ```
///
/// The attribute does more than that in three places: the session also reaches `tokio::spawn`, `JoinSet` and
/// `spawn_blocking`, because it starts the runtime itself; a test that panics keeps its own panic, and its recording goes
/// beside the cassette instead of into it; and the package's name becomes part of the invoker.
///
/// # The function
///
/// `async fn` or `fn`. A plain `fn` runs on the test's thread without a runtime: for blocking clients.
/// It takes nothing, one `Vcr`, or one `&Vcr`, told apart by the last segment of the type's path. It returns `()`, a
/// `Result`, or an `ExitCode`. It is neither generic, `const`, `unsafe` nor `extern`.
///
/// # Arguments
///
/// All are optional, in any order. A word such as `replay` stands bare, a text in quotes; nothing is evaluated.
/// `env` leaves the choice to the environment variable, then `vcr.toml`, then the default, exactly as if the
/// argument were absent; any other value beats them.
///
/// ## Which cassette
///
/// | argument | without the attribute | |
/// |---|---|---|
/// | `scenario = "soft_rule"` | `.scenario("soft_rule")` | What the test is about; names the cassette. Default: the function's name. Under rstest and test_case every case has its own: the case is appended. |
/// | `invoker = "my_crate::router"` | `.invoker("my_crate::router")` | Who runs it; the other part of the name. Default: package and module path. |
/// | `filename = "router.json"` | `.filename("router.json")` | The file's name instead of both; `.json` may be left out. |
/// | `source = "frozen:answers.jsonl"` | `.source("frozen:answers.jsonl")` | What answers instead of the cassette: frozen answers of the fixture directory, by the hash of their request. Ceilings may be lowered behind it: `"frozen:answers.jsonl?max_calls=40"`. Or the log of a recorded agent session, an entry a call: `"session:parent.jsonl?pace_ms=20"`. Default: `VCR_SOURCE`. |
/// | `override_file = "retry.json"` | `.override_file("retry.json")` | A document of the fixture directory by which some calls are answered differently than recorded: a 429 before a call, a cut, a hang. For cassettes and session scripts. Default: `VCR_OVERRIDE_FILE`. |
/// | `child_files = ["child.jsonl"]` | `.child_files(["child.jsonl"])` | The logs of the sessions that a session script's agent started. Default: `VCR_CHILD_FILES`, with `:` (on Windows `;`) between the files. |
/// | `fixture_dir = "tests/cassettes"` | `.fixture_dir("tests/cassettes")` | From the directory of `Cargo.toml`. Default: `VCR_FIXTURE_DIR`, then `fixtures`. |
/// | `trace = "0a0b0c0d"` | `.target_traces("0a0b0c0d")` | Replays this take instead of the latest; `"scenario:id"`, and several with commas. Default: `VCR_TARGETS`. |
///
/// Names become file names on every system: separators, `..`, `: < > " | ? *`, invisible characters, device names such
/// as `CON`, outer spaces, a final dot, and more than 120 bytes are refused with the corrected spelling.
///
/// ## What happens
///
/// | argument | without the attribute | |
/// |---|---|---|
/// | `mode = replay` | `.mode(Mode::Replay)` | `env`, `replay`, `live`, `auto`, `new`. Default: `VCR_MODE`, then `replay`. There is no `mode = record`: a committed one would call the network on every run; use `VCR_MODE=record`. |
/// | `speed = real` | `.speed(Speed::Real)` | `env`, `max`, `real`, or a factor: `"4x"`, `4`, `0.5`. Default: `VCR_SPEED`, then `max`. |
/// | `tick = 100` | `.tick_ms(100.0)` | `env`, or the milliseconds within which recorded chunks become one frame; `0` keeps every chunk. Default: `VCR_TICK`, then `100`. |
/// | `chaos = "50..200"` | `.chaos("50..200".parse()?)` | `env`, milliseconds before the first frame, or a range drawn anew before every frame. Default: `VCR_CHAOS`, then `0`. |
/// | `include_raw = true` | `.include_raw(IncludeRaw::Always)` | `env`, `auto`, `true`, `false`: whether the provider's own bytes are kept. Default: `VCR_INCLUDE_RAW`, then `auto`. |
///
/// ## Which answer belongs to which request
///
/// | argument | without the attribute | |
/// |---|---|---|
/// | `matching = keyed` | `.matching(Matching::Keyed)` | `env`, `sequential`, `keyed`, `order`. Default: `VCR_MATCHING`, then `sequential`. |
/// | `ignore = ["/metadata/run_id"]` | `.ignore(["/metadata/run_id"])` | JSON pointers ([RFC 6901]) to members that differ from run to run; in addition to those of `vcr.toml`. |
/// | `allow_unused` | `.allow_unused(true)` | Recorded calls that nobody asked for do not fail the test. |
/// | `private` | `.private(true)` | What is printed shows neither prompts, answers nor hashes. |
///
/// ## The runtime
///
/// For `async fn` alone; they mean what they mean for `#[tokio::test]`, and stand for this code:
///
/// | argument | without the attribute | |
/// |---|---|---|
/// | `flavor = "multi_thread"` | `Builder::new_multi_thread()` | Default: `"current_thread"`. Needs the feature `multi-thread` of vcr-runtime. |
/// | `worker_threads = 2` | `.worker_threads(2)` | Needs `flavor = "multi_thread"`. |
/// | `start_paused` | `.start_paused(true)` | With `speed = real` a replay keeps its recorded times and takes none. Where the network is called the clock runs all the same. Needs the feature `paused-time` of vcr-runtime. |
///
/// ## The crate
///
/// `crate = ::my::vcr`, bare or in quotes: where the runtime crate is, if not at `::vcr_runtime`; for a crate that
/// re-exports it. In the code without the attribute that is the path you write anyway.
///
/// # With other attributes
///
/// | | |
/// |---|---|
/// | `#[should_panic]` | passes through; a test that panics as it should has passed, so its recording is kept and its session has to be used up |
/// | `#[ignore]`, `#[cfg_attr(..)]`, `#[serial]`, `#[traced_test]`, `#[gtest]` | pass through |
/// | `#[test]` or `#[test_log::test]` below | is the test attribute; no second one is added |
/// | `#[test]` above | the compiler refuses it on an `async fn`, and runs a plain `fn` twice: leave it out |
/// | `#[rstest]`, `#[test_case(..)]` | go above; for rstest write `#[vcr::test]`, or `#[test_attr(vcr_test(..))]` |
/// | `#[tokio::test]`, `#[async_std::test]` | are refused: this attribute starts the runtime |
///
/// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
#[proc_macro_attribute]
pub fn vcr_test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(args.into(), item.into(), FEATURES)
        .into_tokens()
        .into()
}

/// [`macro@vcr_test`] under the name that other test macros look for.
///
/// rstest takes an attribute for a test attribute when its last segment is `test`:
///
/// ```rust,ignore
/// use vcr_runtime as vcr;
///
/// #[rstest]
/// #[case::oslo("Oslo")]
/// #[case::rome("Rome")]
/// #[vcr::test(matching = keyed)]
/// async fn weather(#[case] city: &str) { /* … */ }
/// ```
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    vcr_test(args, item)
}
