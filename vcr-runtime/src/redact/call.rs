use std::collections::BTreeSet;

use super::Redactor;
use crate::model::{Call, Frame, RecordedRequest};

/// The texts of a frame that continue in the next frame of its choice.
const CHANNELS: [fn(&mut Frame) -> Option<&mut String>; 3] = [
    |frame| Some(&mut frame.chunk),
    |frame| frame.reasoning.as_mut(),
    |frame| frame.refusal.as_mut(),
];

impl Redactor {
    /// The request of a recorded call, by the rules of today: a rule that was added later re-keys old recordings.
    /// Returns whether it changed.
    pub(crate) fn recorded(&self, request: &mut RecordedRequest) -> bool {
        let mut changed = false;
        for message in request.messages.iter_mut().flatten() {
            changed |= self.json(message);
        }
        if let Some(parameters) = &mut request.parameters {
            if let Some(protocol) = &request.protocol {
                changed |= self.query_of(protocol, parameters);
            }
            changed |= self.object(parameters);
        }
        changed
    }

    /// What a call says, its request apart. True when a secret was cut that only shows across several frames, so that
    /// pieces of it stand in the raw layer as well.
    pub(crate) fn call(&self, call: &mut Call) -> bool {
        for frame in &mut call.frames {
            self.frame(frame);
        }
        let mut across = false;
        // Those that are there: the provider chooses the numbers, and nothing bounds them.
        let choices: BTreeSet<u32> = call.frames.iter().map(|frame| frame.choice).collect();
        for channel in CHANNELS {
            for &choice in &choices {
                let frames = call.frames.iter_mut().filter(|frame| frame.choice == choice);
                let mut pieces: Vec<&mut String> = frames.filter_map(channel).collect();
                across |= pieces.len() > 1 && self.pieces(&mut pieces);
            }
        }
        if let Some(template) = &mut call.template {
            template.change(|template| {
                self.json(template);
            });
        }
        if let Some(boundary) = &mut call.boundary {
            boundary.message = self.text(&boundary.message).into_owned();
            boundary.error_type = self.text(&boundary.error_type).into_owned();
            if let Some(code) = &mut boundary.code {
                *code = self.text(code).into_owned();
            }
        }
        if let Some(usage) = &mut call.usage {
            self.object(&mut usage.details);
        }
        if let Some(note) = &mut call.note {
            *note = self.text(note).into_owned();
        }
        across
    }

    fn frame(&self, frame: &mut Frame) {
        frame.chunk = self.text(&frame.chunk).into_owned();
        for text in [&mut frame.reasoning, &mut frame.refusal].into_iter().flatten() {
            *text = self.text(text).into_owned();
        }
        for call in &mut frame.tool_calls {
            call.function.name = self.text(&call.function.name).into_owned();
            call.function.arguments = self.text(&call.function.arguments).into_owned();
        }
        if let Some(native) = &mut frame.native {
            self.json(native);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, RedactRules};
    use crate::json::Json;
    use crate::model::{Boundary, BoundaryKind, CanonicalRequest, PLAIN, ToolCall};

    #[test]
    fn a_secret_is_found_across_frames() {
        let environment = Environment::from_pairs([("OPENAI_API_KEY", "test-7Qx-secret-value")]);
        let redactor = Redactor::new(&RedactRules::default(), &environment).unwrap();
        let frame = |text: &str| Frame {
            chunk: text.to_owned(),
            ..Frame::default()
        };
        let mut call = Call {
            frames: vec![frame("key test-7Qx"), frame("-secret-value."), frame("x")].into(),
            ..Call::default()
        };
        assert!(redactor.call(&mut call));
        let texts: Vec<&str> = call.frames.iter().map(|frame| frame.chunk.as_str()).collect();
        assert_eq!(texts, ["key [REDACTED]", ".", "x"]);
        assert!(!redactor.call(&mut call));
    }

    #[test]
    fn the_account_that_a_provider_names_is_nowhere_in_a_call() {
        let redactor = Redactor::none();
        let answer = r#"{"id":"resp_1","safety_identifier":"user-9aBcD","user":"u"}"#;
        let document = crate::json::parse(&format!("{{\"response\":{answer}}}")).unwrap();
        let mut call = Call {
            template: Some(document.clone().into()),
            ..Call::default()
        };
        redactor.call(&mut call);
        let mut raw = document;
        redactor.json(&mut raw);
        // In a request it is the same secret, so recordings of two accounts match.
        let asked = |account: &str| {
            let mut request = CanonicalRequest::default();
            request.parameters.push("safety_identifier", account);
            redactor.request(&mut request);
            request
        };
        assert_eq!(asked("user-9aBcD"), asked("user-other"));
        for shown in [
            format!("{call:?}"),
            format!("{raw:?}"),
            format!("{:?}", asked("user-9aBcD")),
        ] {
            assert!(
                !shown.contains("9aBcD") && shown.contains("safety_identifier"),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_choice_of_any_number_takes_no_time() {
        let redactor = Redactor::none();
        let frame = Frame {
            choice: u32::MAX,
            ..Frame::default()
        };
        let mut call = Call {
            frames: vec![frame.clone(), frame].into(),
            ..Call::default()
        };
        assert!(!redactor.call(&mut call));
    }

    #[test]
    fn what_says_how_a_call_ended_holds_no_secret() {
        let environment = Environment::from_pairs([("OPENAI_API_KEY", "test-7Qx-secret-value")]);
        let redactor = Redactor::new(&RedactRules::default(), &environment).unwrap();
        let secret = || "a test-7Qx-secret-value".to_owned();
        let mut call = Call {
            note: Some(secret()),
            boundary: Some(Boundary {
                kind: BoundaryKind::Error,
                error_type: secret(),
                message: secret(),
                status: None,
                code: Some(secret()),
            }),
            frames: vec![Frame {
                tool_calls: vec![ToolCall::new("1", secret(), "{}")],
                ..Frame::default()
            }]
            .into(),
            ..Call::default()
        };
        redactor.call(&mut call);
        let shown = format!("{call:?}");
        assert!(!shown.contains("test-7Qx"), "{shown}");
    }

    #[test]
    fn the_query_of_a_plain_call_is_redacted_alike_on_both_sides() {
        let redactor = Redactor::none();
        let mut live = CanonicalRequest {
            protocol: PLAIN.to_owned(),
            ..CanonicalRequest::default()
        };
        live.parameters.push("query", "alt=sse&key=abc&a=1");
        let mut recorded = RecordedRequest::recorded(live.clone(), String::new());
        redactor.request(&mut live);
        redactor.recorded(&mut recorded);
        let query = Json::from("alt=sse&key=[REDACTED]&a=1");
        assert_eq!(live.parameters.get("query"), Some(&query));
        assert_eq!(recorded.parameters, Some(live.parameters.clone()));
        assert!(!redactor.request(&mut live));
        // A parameter of a completion that happens to have the name is none.
        live.protocol = "openai-chat".to_owned();
        live.parameters.set("query", "key=abc");
        assert!(!redactor.request(&mut live));
    }
}
