use super::Redactor;
use crate::json::{Json, Object};
use crate::model::{Call, Frame, RecordedRequest};

/// The texts of a frame that continue in the next frame of its choice.
const CHANNELS: [fn(&mut Frame) -> Option<&mut String>; 3] = [
    |frame| Some(&mut frame.chunk),
    |frame| frame.reasoning.as_mut(),
    |frame| frame.refusal.as_mut(),
];

impl Redactor {
    /// The request of a recorded call, by the rules of today: a rule that was added later re-keys old recordings.
    pub(crate) fn recorded(&self, request: &mut RecordedRequest) {
        for message in request.messages.iter_mut().flatten() {
            self.json(message);
        }
        if let Some(parameters) = &mut request.parameters {
            self.members(parameters);
        }
    }

    /// What a call says, its request apart. True when a secret was cut that only shows across several frames, so that
    /// pieces of it stand in the raw layer as well.
    pub(crate) fn call(&self, call: &mut Call) -> bool {
        for frame in &mut call.frames {
            self.frame(frame);
        }
        let mut across = false;
        let last_choice = call
            .frames
            .iter()
            .map(|frame| frame.choice)
            .max()
            .unwrap_or_default();
        for channel in CHANNELS {
            for choice in 0..=last_choice {
                let frames = call.frames.iter_mut().filter(|frame| frame.choice == choice);
                let mut pieces: Vec<&mut String> = frames.filter_map(channel).collect();
                across |= pieces.len() > 1 && self.pieces(&mut pieces);
            }
        }
        if let Some(template) = &mut call.template {
            self.json(template);
        }
        if let Some(boundary) = &mut call.boundary {
            boundary.message = self.text(&boundary.message).into_owned();
        }
        if let Some(usage) = &mut call.usage {
            self.members(&mut usage.details);
        }
        across
    }

    fn members(&self, object: &mut Object) {
        let mut document = Json::Object(std::mem::take(object));
        self.json(&mut document);
        if let Json::Object(members) = document {
            *object = members;
        }
    }

    fn frame(&self, frame: &mut Frame) {
        frame.chunk = self.text(&frame.chunk).into_owned();
        for text in [&mut frame.reasoning, &mut frame.refusal].into_iter().flatten() {
            *text = self.text(text).into_owned();
        }
        for call in &mut frame.tool_calls {
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

    #[test]
    fn a_secret_is_found_across_frames() {
        let environment = Environment::from_pairs([("OPENAI_API_KEY", "test-7Qx-secret-value")]);
        let redactor = Redactor::new(&RedactRules::default(), &environment).unwrap();
        let frame = |text: &str| Frame {
            chunk: text.to_owned(),
            ..Frame::default()
        };
        let mut call = Call {
            frames: vec![frame("key test-7Qx"), frame("-secret-value."), frame("x")],
            ..Call::default()
        };
        assert!(redactor.call(&mut call));
        let texts: Vec<&str> = call.frames.iter().map(|frame| frame.chunk.as_str()).collect();
        assert_eq!(texts, ["key [REDACTED]", ".", "x"]);
        assert!(!redactor.call(&mut call));
    }
}
