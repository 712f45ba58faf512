//! Providers of a project's own that speak like chat completions but call things otherwise.
//!
//! ```toml
//! [providers.acme]
//! base_url = "https://llm.acme.example/v1"
//! path = "/generate"              # instead of /chat/completions
//!
//! [providers.acme.rules]          # what is called otherwise; paths are dotted names
//! stream.end = "[END]"            # the data of the end marker; "" when there is none
//! event.choices = "results"       # relative to the payload, as are usage and error
//! event.text = "delta.text"       # relative to the choice
//! event.tool.arguments = "input"  # relative to the tool call
//! body.text = "message.text"
//! usage.prompt = "tokens.in"      # relative to the usage
//! error.message = "reason"        # relative to the error
//! finish.stop = ["DONE"]          # canonical word = the provider's
//! ```
//!
//! A payload is put into the places of chat completions on its way in, and back on its way out. All else (template,
//! rendering, comparison) is that of chat completions.

mod moves;
mod providers;
mod table;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use providers::Providers;
