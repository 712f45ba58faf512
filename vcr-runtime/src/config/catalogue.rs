use std::time::Duration;

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::file::{Reader, Value};
use crate::error::Result;

/// The providers and models that a program finds while nothing is live: the tables `[catalogue.PROVIDER]` of `vcr.toml`.
/// Nobody is asked for them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Catalogue {
    /// By their ids, in alphabetical order.
    pub providers: Vec<Provider>,
}

/// A provider of a [`Catalogue`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Provider {
    /// The name of its table.
    pub id: String,
    /// For people; the id where the table has none.
    pub name: String,
    /// How its callers are to try again.
    pub retry: Option<Retry>,
    /// By their ids, in alphabetical order.
    pub models: Vec<Model>,
}

/// A model of a [`Provider`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// What requests call it.
    pub id: String,
    /// For people; the id where the table has none.
    pub name: String,
    /// Tokens of a request and its answer together.
    pub context_window: Option<u64>,
    /// Tokens of an answer to a request that sets no limit.
    pub default_max_tokens: Option<u64>,
    /// What a message may consist of; text alone where the table says nothing.
    pub input_modalities: Vec<Modality>,
    /// Tokens that an image counts for.
    pub image_request_tokens: Option<u64>,
    /// The efforts that a request may ask for; empty where the model does not reason.
    pub reasoning_efforts: Vec<String>,
    /// The one that it makes unasked.
    pub default_reasoning_effort: Option<String>,
}

/// What a message may consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Modality {
    /// Text.
    Text,
    /// Images.
    Image,
}

impl Modality {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
        }
    }
}

/// How callers of a provider are to try again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    /// The provider's own word for it.
    pub mode: String,
    /// Before the second attempt.
    pub initial_delay: Duration,
    /// Before any attempt, at most.
    pub max_delay: Duration,
    /// The part of each wait that is drawn, from 0 to 1.
    pub jitter_ratio: f64,
}

const PROVIDER: [&str; 3] = ["name", "retry", "models"];
const MODEL: [&str; 7] = [
    "name",
    "context_window",
    "default_max_tokens",
    "input_modalities",
    "image_request_tokens",
    "reasoning_efforts",
    "default_reasoning_effort",
];
const RETRY: [&str; 4] = ["mode", "initial_delay_ms", "max_delay_ms", "jitter_ratio"];

impl Reader<'_> {
    pub(super) fn catalogue(&self, value: &Value<'_>) -> Result<Catalogue> {
        let mut catalogue = Catalogue::default();
        for (id, value) in self.table("catalogue", value)? {
            catalogue.providers.push(self.catalogue_provider(id, value)?);
        }
        Ok(catalogue)
    }

    fn catalogue_provider(&self, id: &Spanned<DeString<'_>>, value: &Value<'_>) -> Result<Provider> {
        let word = self.id(id)?;
        let mut provider = Provider {
            name: word.clone(),
            retry: None,
            models: Vec::new(),
            id: word,
        };
        let place = format!("catalogue.{}", provider.id);
        for (key, value) in self.table(&place, value)? {
            match key.get_ref().as_ref() {
                "name" => provider.name = self.said("name", value)?,
                "retry" => provider.retry = Some(self.retry(&place, value)?),
                "models" => {
                    for (id, value) in self.table(&format!("{place}.models"), value)? {
                        provider.models.push(self.model(&place, id, value)?);
                    }
                }
                _ => return Err(self.unknown(key, PROVIDER.into_iter())),
            }
        }
        match provider.models.is_empty() {
            false => Ok(provider),
            true => Err(self.error(
                id.span(),
                format_args!("the provider `{}` of the catalogue has no models", provider.id),
                format!("write `models.NAME = {{}}` below `[{place}]`"),
            )),
        }
    }

    fn model(&self, place: &str, id: &Spanned<DeString<'_>>, value: &Value<'_>) -> Result<Model> {
        let word = self.id(id)?;
        let mut model = Model {
            name: word.clone(),
            context_window: None,
            default_max_tokens: None,
            input_modalities: vec![Modality::Text],
            image_request_tokens: None,
            reasoning_efforts: Vec::new(),
            default_reasoning_effort: None,
            id: word,
        };
        for (key, value) in self.table(&format!("{place}.models.{}", model.id), value)? {
            let name = key.get_ref().as_ref();
            match name {
                "name" => model.name = self.said(name, value)?,
                "context_window" => model.context_window = Some(self.whole(name, value, 1)?),
                "default_max_tokens" => model.default_max_tokens = Some(self.whole(name, value, 1)?),
                "input_modalities" => model.input_modalities = self.modalities(name, value)?,
                "image_request_tokens" => model.image_request_tokens = Some(self.whole(name, value, 1)?),
                "reasoning_efforts" => model.reasoning_efforts = self.texts(name, value)?,
                "default_reasoning_effort" => {
                    model.default_reasoning_effort = Some(self.said(name, value)?);
                }
                _ => return Err(self.unknown(key, MODEL.into_iter())),
            }
        }
        self.fit(id, &model)?;
        Ok(model)
    }

    /// That the members of a model fit each other.
    fn fit(&self, id: &Spanned<DeString<'_>>, model: &Model) -> Result<()> {
        let refuse = |says: &str, advice: &str| {
            let problem = format!("the model `{}` of the catalogue {says}", model.id);
            Err(self.error(id.span(), problem, advice))
        };
        if model.image_request_tokens.is_some() && !model.input_modalities.contains(&Modality::Image) {
            return refuse(
                "has `image_request_tokens` and takes no images",
                "add \"image\" to its `input_modalities`, or leave them out",
            );
        }
        let efforts = &model.reasoning_efforts;
        match &model.default_reasoning_effort {
            Some(effort) if !efforts.contains(effort) => refuse(
                "has a `default_reasoning_effort` that is none of its `reasoning_efforts`",
                "add it to them, or leave it out",
            ),
            _ => Ok(()),
        }
    }

    fn modalities(&self, name: &str, value: &Value<'_>) -> Result<Vec<Modality>> {
        let mut found = Vec::new();
        for (span, text) in self.spanned_texts(name, value)? {
            let known = [Modality::Text, Modality::Image].into_iter();
            let modality = known.clone().find(|known| known.name() == text);
            match modality.filter(|modality| !found.contains(modality)) {
                Some(modality) => found.push(modality),
                None => {
                    let text = text.escape_debug();
                    return Err(self.error(
                        span,
                        format_args!("`{name}` has `{text}`, which is no other modality"),
                        "name \"text\", \"image\", or both",
                    ));
                }
            }
        }
        match found.is_empty() {
            false => Ok(found),
            true => Err(self.error(
                value.span(),
                format_args!("`{name}` names none"),
                "name \"text\", \"image\", or both",
            )),
        }
    }

    fn retry(&self, place: &str, value: &Value<'_>) -> Result<Retry> {
        let mut retry = Retry {
            mode: "normal".to_owned(),
            initial_delay: Duration::ZERO,
            max_delay: Duration::ZERO,
            jitter_ratio: 0.0,
        };
        for (key, value) in self.table(&format!("{place}.retry"), value)? {
            let name = key.get_ref().as_ref();
            match name {
                "mode" => retry.mode = self.said(name, value)?,
                "initial_delay_ms" => {
                    retry.initial_delay = Duration::from_millis(self.whole(name, value, 0)?);
                }
                "max_delay_ms" => retry.max_delay = Duration::from_millis(self.whole(name, value, 0)?),
                "jitter_ratio" => retry.jitter_ratio = self.ratio(name, value)?,
                _ => return Err(self.unknown(key, RETRY.into_iter())),
            }
        }
        match retry.initial_delay <= retry.max_delay {
            true => Ok(retry),
            false => Err(self.error(
                value.span(),
                "`max_delay_ms` is less than `initial_delay_ms`",
                "raise it, or lower the other",
            )),
        }
    }

    fn id(&self, id: &Spanned<DeString<'_>>) -> Result<String> {
        match id.get_ref().trim() {
            "" => Err(self.error(
                id.span(),
                "the catalogue has an id that says nothing",
                "name the provider, or the model, as requests do",
            )),
            _ => Ok(id.get_ref().as_ref().to_owned()),
        }
    }

    fn said(&self, name: &str, value: &Value<'_>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) if !text.is_empty() => Ok(text.as_ref().to_owned()),
            _ => Err(self.error(
                value.span(),
                format_args!("`{name}` must be a text that says something"),
                format!("write `{name} = \"…\"`, or leave it out"),
            )),
        }
    }

    fn whole(&self, name: &str, value: &Value<'_>, least: u64) -> Result<u64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse().ok(),
            _ => None,
        };
        number.filter(|number| *number >= least).ok_or_else(|| {
            self.error(
                value.span(),
                format_args!("`{name}` must be a whole number from {least}"),
                format!("write `{name} = 1000`, or leave it out"),
            )
        })
    }

    fn ratio(&self, name: &str, value: &Value<'_>) -> Result<f64> {
        let number: Option<f64> = match value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse().ok(),
            DeValue::Float(number) => number.to_string().parse().ok(),
            _ => None,
        };
        number
            .filter(|number| (0.0..=1.0).contains(number))
            .ok_or_else(|| {
                self.error(
                    value.span(),
                    format_args!("`{name}` must be a number from 0 to 1"),
                    format!("write `{name} = 0.5`, or leave it out"),
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ProjectFile;
    use super::*;

    fn read(text: &str) -> Result<Catalogue> {
        ProjectFile::parse(text, Path::new("vcr.toml")).map(|file| file.catalogue)
    }

    #[test]
    fn a_catalogue_has_providers_with_their_models() {
        let text = "[catalogue.deepseek-official]\nname = \"DeepSeek\"\n\
            retry = { mode = \"normal\", initial_delay_ms = 1, max_delay_ms = 2, jitter_ratio = 0 }\n\
            [catalogue.deepseek-official.models]\n\
            \"deepseek-v4.1\" = { name = \"V4\", context_window = 128000, default_max_tokens = 8, input_modalities = [\"text\", \"image\"],\
            image_request_tokens = 9, reasoning_efforts = [\"low\", \"high\"], default_reasoning_effort = \"low\" }\n\
            deepseek-v4-pro = {}\n\
            [catalogue.b.models.m]\n";
        let catalogue = read(text).unwrap();
        let [b, deepseek] = &catalogue.providers[..] else {
            panic!("{catalogue:?}")
        };
        assert_eq!((b.id.as_str(), b.name.as_str(), &b.retry), ("b", "b", &None));
        let retry = deepseek.retry.as_ref().unwrap();
        assert_eq!(
            (deepseek.name.as_str(), retry.mode.as_str()),
            ("DeepSeek", "normal")
        );
        assert_eq!(
            (retry.initial_delay.as_millis(), retry.max_delay.as_millis()),
            (1, 2)
        );
        let [pro, other] = &deepseek.models[..] else {
            panic!("{deepseek:?}")
        };
        assert_eq!(
            (pro.id.as_str(), pro.name.as_str()),
            ("deepseek-v4-pro", "deepseek-v4-pro")
        );
        assert_eq!(pro.input_modalities, [Modality::Text]);
        assert_eq!((other.id.as_str(), other.name.as_str()), ("deepseek-v4.1", "V4"));
        assert_eq!(
            (
                other.context_window,
                other.default_max_tokens,
                other.image_request_tokens
            ),
            (Some(128_000), Some(8), Some(9))
        );
        assert_eq!(other.default_reasoning_effort.as_deref(), Some("low"));
        assert_eq!(read("").unwrap(), Catalogue::default());
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_line() {
        let model = |members: &str| format!("[catalogue.p.models.m]\n{members}\n");
        for (text, line, says) in [
            ("catalogue = 1".to_owned(), 1, "`catalogue` must be a table"),
            (
                "[catalogue.p]\nmodel = {}".to_owned(),
                2,
                "the key `model` is not known, did you mean `models`?",
            ),
            (
                "[catalogue.p]\nname = \"P\"".to_owned(),
                1,
                "the provider `p` of the catalogue has no models",
            ),
            (
                "[catalogue.\" \".models.m]".to_owned(),
                1,
                "the catalogue has an id that says nothing",
            ),
            (
                model("name = \"\""),
                2,
                "`name` must be a text that says something",
            ),
            (
                model("contextWindow = 1"),
                2,
                "the key `contextWindow` is not known",
            ),
            (
                model("context_window = 0"),
                2,
                "`context_window` must be a whole number from 1",
            ),
            (
                model("context_window = 1.5"),
                2,
                "`context_window` must be a whole number from 1",
            ),
            (
                model("default_max_tokens = -1"),
                2,
                "`default_max_tokens` must be a whole number from 1",
            ),
            (model("input_modalities = []"), 2, "`input_modalities` names none"),
            (
                model("input_modalities = [\"audio\"]"),
                2,
                "`input_modalities` has `audio`, which is no other modality",
            ),
            (
                model("input_modalities = [\"text\", \"text\"]"),
                2,
                "`input_modalities` has `text`, which is no other modality",
            ),
            (
                model("image_request_tokens = 5"),
                1,
                "the model `m` of the catalogue has `image_request_tokens` and takes no images",
            ),
            (
                model("input_modalities = [\"image\"]\nimage_request_tokens = 0"),
                3,
                "`image_request_tokens` must be a whole number from 1",
            ),
            (
                model("reasoning_efforts = [\"low\"]\ndefault_reasoning_effort = \"high\""),
                1,
                "the model `m` of the catalogue has a `default_reasoning_effort` that is none of its `reasoning_efforts`",
            ),
            (
                model("[catalogue.p.retry]\njitter_ratio = 1.5"),
                3,
                "`jitter_ratio` must be a number from 0 to 1",
            ),
            (
                model("[catalogue.p]\nretry = { initial_delay_ms = 2, max_delay_ms = 1 }"),
                3,
                "`max_delay_ms` is less than `initial_delay_ms`",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Config, "{text}: {error}");
            assert!(error.message().contains(says), "{text}: {error}");
            assert_eq!(
                (error.line(), error.advice().is_empty()),
                (Some(line), false),
                "{text}: {error}"
            );
        }
    }
}
