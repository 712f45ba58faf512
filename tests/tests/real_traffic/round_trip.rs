//! One exchange: served, recorded, verified, replayed, and read as its SDK reads it.

use serde_json::Value;
use vcr_runtime::Mode;
use vcr_tests::rig::{Delivered, RecordedCall, Rig, done};
use vcr_tests::sdk::differences;
use vcr_tests::traffic::{self, Exchange};
use vcr_tests::{Split, Upstream};

use crate::send;

const SPLITS: [Split; 3] = [Split::Bytes(1), Split::Random(1), Split::Whole];

/// All exchanges of a folder, in every cut and with every rule for the raw layer.
pub(crate) async fn folder(folder: &str) {
    let Some(exchanges) = traffic::load(&[folder]) else {
        return;
    };
    assert!(!exchanges.is_empty());
    let mut faults = Vec::new();
    for exchange in &exchanges {
        for raw in ["true", "auto", "false"] {
            for split in SPLITS {
                let found = round_trip(exchange, split, raw).await;
                faults.extend(
                    found
                        .into_iter()
                        .map(|fault| format!("{} {split:?} raw={raw}: {fault}", exchange.name())),
                );
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What the SDK of the exchange makes of an answer.
pub(crate) fn read(exchange: &Exchange, answer: &Delivered) -> Value {
    let content_type = answer.header("content-type").unwrap_or_default();
    exchange.sdk().read(content_type, &answer.whole.bytes())
}

async fn round_trip(exchange: &Exchange, split: Split, raw: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            faults.push(what);
        }
    };
    let upstream = Upstream::start([exchange.reply().split(split)]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .include_raw(raw.parse().unwrap())
        .open()
        .unwrap();
    let live = send(&vcr, &upstream.url(), exchange).await;
    done(vcr).await;
    expect(
        live.status == exchange.status,
        format!("live status {}", live.status),
    );
    expect(live.whole.bytes() == exchange.body, "live bytes".to_owned());
    let verified: Vec<String> = vcr_runtime::verify(rig.path())
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    expect(verified.is_empty(), format!("does not verify: {verified:?}"));
    let call = rig.cassette().call();
    let kept = call.has_raw();

    let vcr = rig.replay();
    let again = send(&vcr, &upstream.url(), exchange).await;
    done(vcr).await;
    expect(upstream.count() == 1, "the replay went live".to_owned());
    expect(
        again.status == exchange.status,
        format!("status {}", again.status),
    );
    expect(
        again.whole.broken.is_none(),
        format!("broken: {:?}", again.whole.broken),
    );
    let essence = |content_type: &str| content_type.split(';').next().unwrap().trim().to_owned();
    let content_type = essence(again.header("content-type").unwrap_or_default());
    expect(
        content_type == essence(exchange.content_type()),
        format!("content type {content_type}"),
    );
    expect(raw != "true" || kept, "no raw layer".to_owned());
    if kept {
        let same = again.whole.bytes() == without_secrets(&exchange.body);
        expect(same, "the raw layer was kept, the bytes were not".to_owned());
    }
    // An account id is redacted before anything is stored.
    let found = differences(&without_secrets_in(&exchange.answer()), &read(exchange, &again));
    let unexpected: Vec<&String> = found.iter().filter(|path| !noted(&call, path)).collect();
    expect(
        unexpected.is_empty(),
        format!(
            "an SDK sees a difference at {unexpected:?}; the note: {}",
            note(&call)
        ),
    );
    faults
}

/// The note of a recorded call.
pub(crate) fn note(call: &RecordedCall) -> &str {
    call.0["note"].as_str().unwrap_or_default()
}

/// Whether the note says that what stands at this path is lost without the raw layer.
fn noted(call: &RecordedCall, path: &str) -> bool {
    let Some((_, lost)) = note(call).split_once("without the raw layer this is lost: ") else {
        return false;
    };
    // Every second piece stands between back quotes.
    let told = lost.split('`').skip(1).step_by(2).map(members_of);
    told.into_iter().any(|told| told == members_of(path))
}

/// The names on a path, without places and without the member that only a wire has.
fn members_of(path: &str) -> Vec<String> {
    let words = path.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words
        .filter(|word| !word.is_empty() && *word != "message" && word.parse::<u64>().is_err())
        .map(str::to_owned)
        .collect()
}

/// The ids of accounts in the recordings, and what is stored in their place.
const ACCOUNTS: [&str; 2] = ["user_PLACEHOLDER1", "safety-id-PLACEHOLDER2"];

fn without_accounts(text: &str) -> String {
    let redacted = |text: String, account: &str| text.replace(account, "[REDACTED]");
    ACCOUNTS.into_iter().fold(text.to_owned(), redacted)
}

fn without_secrets(body: &[u8]) -> Vec<u8> {
    std::str::from_utf8(body).map_or_else(|_| body.to_vec(), |text| without_accounts(text).into_bytes())
}

fn without_secrets_in(value: &Value) -> Value {
    serde_json::from_str(&without_accounts(&value.to_string())).unwrap()
}
