use serde_json::Value;
use vcr_runtime::{Mode, Vcr};
use vcr_tests::protocols::Protocol;
use vcr_tests::rig::{Delivered, RecordedCall, Rig, done, within};
use vcr_tests::sdk::{Sdk, differences};
use vcr_tests::{Reply, Upstream};

/// The settings for the raw layer.
pub(super) const LAYERS: [&str; 3] = ["auto", "true", "false"];

/// An answer as it was heard live, recorded, and heard again.
pub(super) struct Pass {
    pub(super) case: String,
    pub(super) live: Delivered,
    pub(super) call: RecordedCall,
    pub(super) again: Delivered,
    protocol: &'static str,
}

pub(super) fn session(rig: &Rig, mode: Mode, raw: &str, tick: f64) -> Vcr {
    let builder = rig.builder(mode).tick_ms(tick).include_raw(raw.parse().unwrap());
    builder.open().unwrap()
}

pub(super) async fn pass(protocol: &Protocol, reply: Reply, raw: &str, tick: f64) -> Pass {
    let upstream = Upstream::start([reply]);
    let rig = Rig::new();
    let vcr = session(&rig, Mode::Record, raw, tick);
    let live = within(protocol.send(&vcr, &upstream.url(), true)).await;
    done(vcr).await;
    let vcr = session(&rig, Mode::Replay, raw, tick);
    let again = within(protocol.send(&vcr, &upstream.url(), true)).await;
    done(vcr).await;
    let case = format!("{} raw={raw} tick={tick}", protocol.name);
    assert_eq!(upstream.count(), 1, "{case}");
    assert_eq!(again.status, live.status, "{case}");
    let verified = vcr_runtime::verify(rig.path()).unwrap();
    assert!(verified.is_empty(), "{case}: {verified:?}");
    Pass {
        case,
        live,
        call: rig.cassette().call(),
        again,
        protocol: protocol.name,
    }
}

impl Pass {
    /// What an SDK makes of an answer.
    pub(super) fn heard(&self, answer: &Delivered) -> Value {
        let sdk = match self.protocol {
            "openai-chat" => Sdk::OpenAiChat,
            "openai-responses" => Sdk::OpenAiResponses,
            "anthropic-messages" => Sdk::Anthropic,
            "gemini" => Sdk::Gemini,
            "ollama-chat" => Sdk::Ollama,
            other => panic!("no SDK reads the streams of {other}"),
        };
        sdk.read(
            answer.header("content-type").unwrap_or_default(),
            &answer.whole.bytes(),
        )
    }

    /// The caller hears the same again, and a break where there was one.
    pub(super) fn same(&self) -> &Self {
        let (live, again) = (self.heard(&self.live), self.heard(&self.again));
        let found = differences(&live, &again);
        assert!(found.is_empty(), "{}: {found:?}\n{live}\n{again}", self.case);
        assert_eq!(
            self.live.whole.broken.is_some(),
            self.again.whole.broken.is_some(),
            "{}",
            self.case
        );
        self
    }
}
