//! Settings: their words, where they may be written, and one precedence among those places.

mod catalogue;
mod environment;
mod file;
mod files;
mod jitter;
mod layer;
mod nearest;
mod providers;
mod public;
mod serve;
mod settings;
mod source_name;
mod values;

pub use catalogue::{Catalogue, Modality, Model, Provider, Retry};
pub(crate) use environment::Environment;
pub(crate) use file::{ProjectFile, RedactRules};
pub(crate) use files::OverrideFile;
pub(crate) use jitter::Jitter;
pub(crate) use layer::{Key, Layer};
pub(crate) use nearest::hint;
pub(crate) use providers::{ProviderTable, RuleLine};
pub use public::Config;
pub(crate) use serve::ServeSettings;
pub(crate) use settings::Settings;
pub(crate) use source_name::{Ceilings, SessionFiles, SourceName};
pub use values::{Chaos, IncludeRaw, Matching, Mode, Speed};
