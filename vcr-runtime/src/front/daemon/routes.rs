//! Where a request goes: by the path's prefix, by the provider that the model names, or by the protocol that the path speaks.

use std::sync::Arc;

use crate::config::ProjectFile;
use crate::error::Result;
use crate::front::completion::known_base;
use crate::front::gateway::check_base;
use crate::protocol::{Protocol, Wire, owner, provider_of};
use crate::session::Upstream;

/// The upstreams of a daemon.
#[derive(Debug)]
pub(super) struct Routes {
    project: Arc<ProjectFile>,
    /// `--upstream`: for every path without a prefix, whatever the model.
    fixed: Option<Arc<Upstream>>,
    /// Path prefixes without slashes at their ends, with their upstreams.
    prefixes: Vec<(String, Arc<Upstream>)>,
    defaults: Vec<(Protocol, Arc<Upstream>)>,
}

/// Where a path leads.
#[derive(Clone)]
pub(super) struct Target<'p> {
    pub(super) upstream: Arc<Upstream>,
    /// What of the path lies below the upstream's base.
    pub(super) rest: &'p str,
    /// The protocol that the path speaks.
    pub(super) wire: Option<&'static dyn Wire>,
    /// Whether the model may name another upstream.
    by_model: bool,
}

impl Routes {
    /// # Errors
    /// `Config` when `upstream` is no base URL.
    pub(super) fn new(project: Arc<ProjectFile>, upstream: Option<&str>) -> Result<Self> {
        let named = |base: &str, provider: &str| {
            Arc::new(Upstream {
                provider: provider.to_owned(),
                base: base.to_owned(),
            })
        };
        let fixed = match upstream {
            None => None,
            Some(upstream) => {
                let moved = project.providers.get(upstream).map(|own| &own.base_url);
                let moved = moved.or_else(|| project.upstreams.get(upstream));
                let base = check_base(moved.map_or(upstream, String::as_str))?;
                let provider = provider_of(&base).unwrap_or_default();
                Some(named(&base, &provider))
            }
        };
        let defaults: Vec<_> = Protocol::all()
            .map(|protocol| {
                let moved = project.upstreams.get(protocol.provider());
                let base = moved.map_or(protocol.upstream(), String::as_str);
                (protocol, named(base, protocol.provider()))
            })
            .collect();
        let mut prefixes: Vec<_> = defaults
            .iter()
            .map(|(protocol, upstream)| (protocol.prefix().to_owned(), Arc::clone(upstream)))
            .collect();
        for (name, base) in &project.upstreams {
            prefixes.push((format!("up/{name}"), named(base, name)));
        }
        for (name, own) in &project.providers {
            prefixes.push((format!("up/{name}"), named(&own.base_url, name)));
        }
        Ok(Self {
            project,
            fixed,
            prefixes,
            defaults,
        })
    }

    /// Whether anything is known of a path.
    pub(super) fn leads(&self, path: &str) -> bool {
        self.fixed.is_some() || self.target(path).is_some()
    }

    /// Where a path leads; `None` when nothing is known of it.
    pub(super) fn target<'p>(&self, path: &'p str) -> Option<Target<'p>> {
        for (prefix, upstream) in &self.prefixes {
            if let Some(rest) = below(path, prefix) {
                return Some(Target {
                    upstream: Arc::clone(upstream),
                    rest,
                    wire: owner(rest),
                    by_model: false,
                });
            }
        }
        let wire = owner(path);
        let protocol = match wire {
            Some(wire) => Protocol::of(wire),
            // What no protocol knows but stands where one lives, such as `/v1/moderations`.
            None => self
                .defaults
                .iter()
                .map(|(protocol, _)| *protocol)
                .find(|protocol| !protocol.mount().is_empty() && below(path, protocol.mount()).is_some()),
        };
        let mount = protocol.map_or("", Protocol::mount);
        let rest = below(path, mount).filter(|_| !mount.is_empty()).unwrap_or(path);
        if let Some(upstream) = &self.fixed {
            return Some(Target {
                rest: fitting(&upstream.base, path, rest),
                upstream: Arc::clone(upstream),
                wire,
                by_model: false,
            });
        }
        let (_, upstream) = self.defaults.iter().find(|(other, _)| Some(*other) == protocol)?;
        Some(Target {
            upstream: Arc::clone(upstream),
            rest,
            wire,
            by_model: true,
        })
    }

    /// The upstream that a model such as `groq/llama-3` names, and what the model is called there. Only where the
    /// path leaves it open, and the provider speaks the path's protocol.
    pub(super) fn by_model<'m>(
        &self,
        target: &Target<'_>,
        model: &'m str,
    ) -> Option<(Arc<Upstream>, &'m str)> {
        let wire = target.wire.filter(|_| target.by_model)?;
        let (provider, rest) = model.split_once('/')?;
        let own = self
            .project
            .providers
            .get(provider)
            .map(|own| own.base_url.clone());
        let base = own
            .or_else(|| self.project.upstreams.get(provider).cloned())
            .or_else(|| known_base(provider, wire.name()).map(str::to_owned))?;
        let provider = provider.to_owned();
        (!rest.is_empty()).then(|| (Arc::new(Upstream { provider, base }), rest))
    }

    /// The prefixes there are, for people.
    pub(super) fn known(&self) -> String {
        let all: Vec<String> = self
            .prefixes
            .iter()
            .map(|(prefix, _)| format!("/{prefix}"))
            .collect();
        all.join(", ")
    }

    /// Where paths without a prefix go, for people.
    pub(super) fn fixed(&self) -> Option<&str> {
        self.fixed.as_ref().map(|upstream| upstream.base.as_str())
    }
}

/// The part of `path` after `/prefix`, when it ends there or goes on with a slash.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = path.strip_prefix('/')?.strip_prefix(prefix)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// What to append to a base that the user gave. Some write it with the version at its end and some as the host alone.
fn fitting<'p>(base: &str, path: &'p str, rest: &'p str) -> &'p str {
    let host_only = base.split_once("://").is_none_or(|(_, rest)| !rest.contains('/'));
    if host_only {
        return path;
    }
    match path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')) {
        Some(rest) if base.ends_with("/v1") => rest,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const PROJECT: &str = "[upstreams]\nllama_server = \"http://127.0.0.1:8080/v1\"\n\
                           [providers.acme]\nbase_url = \"http://127.0.0.1:9/x\"\n";

    fn routes(upstream: Option<&str>) -> Routes {
        let project = ProjectFile::parse(PROJECT, Path::new("/p/vcr.toml")).unwrap();
        Routes::new(Arc::new(project), upstream).unwrap()
    }

    fn url(routes: &Routes, path: &str) -> Option<String> {
        let target = routes.target(path)?;
        Some(format!("{}{}", target.upstream.base, target.rest))
    }

    #[test]
    fn a_path_without_a_prefix_goes_where_its_protocol_lives() {
        let routes = routes(None);
        for (path, expected) in [
            (
                "/v1/chat/completions",
                "https://api.openai.com/v1/chat/completions",
            ),
            ("/v1/responses", "https://api.openai.com/v1/responses"),
            ("/v1/embeddings", "https://api.openai.com/v1/embeddings"),
            ("/v1/moderations", "https://api.openai.com/v1/moderations"),
            ("/v1/messages", "https://api.anthropic.com/v1/messages"),
            (
                "/v1/messages/count_tokens",
                "https://api.anthropic.com/v1/messages/count_tokens",
            ),
            (
                "/v1beta/models/g:generateContent",
                "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent",
            ),
            ("/api/chat", "http://127.0.0.1:11434/api/chat"),
            ("/openai/v1/models", "https://api.openai.com/v1/models"),
            ("/anthropic/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("/up/acme/generate", "http://127.0.0.1:9/x/generate"),
            (
                "/up/llama_server/chat/completions",
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
        ] {
            assert_eq!(url(&routes, path).as_deref(), Some(expected), "{path}");
        }
        for path in [
            "/",
            "/v1x/chat",
            "/up/nobody/chat",
            "/favicon.ico",
            "/model/m/converse",
        ] {
            assert_eq!(url(&routes, path), None, "{path}");
        }
    }

    #[test]
    fn a_given_upstream_takes_what_has_no_prefix() {
        for (base, path, expected) in [
            (
                "http://h.example/v1",
                "/v1/chat/completions",
                "http://h.example/v1/chat/completions",
            ),
            (
                "http://h.example",
                "/v1/chat/completions",
                "http://h.example/v1/chat/completions",
            ),
            (
                "http://h.example/api/v1",
                "/v1/messages",
                "http://h.example/api/v1/messages",
            ),
            (
                "http://h.example/beta/openai/",
                "/v1/chat/completions",
                "http://h.example/beta/openai/chat/completions",
            ),
            (
                "http://h.example/p",
                "/v1/messages",
                "http://h.example/p/v1/messages",
            ),
            (
                "http://h.example",
                "/model/m/converse",
                "http://h.example/model/m/converse",
            ),
            (
                "llama_server",
                "/v1/embeddings",
                "http://127.0.0.1:8080/v1/embeddings",
            ),
        ] {
            assert_eq!(
                url(&routes(Some(base)), path).as_deref(),
                Some(expected),
                "{base} {path}"
            );
        }
        let prefixed = url(&routes(Some("http://h.example")), "/gemini/v1beta/x");
        assert_eq!(
            prefixed.as_deref(),
            Some("https://generativelanguage.googleapis.com/v1beta/x")
        );
        let project = Arc::new(ProjectFile::default());
        assert!(Routes::new(project, Some("h.example")).is_err());
    }

    #[test]
    fn the_model_names_a_provider_that_speaks_the_protocol() {
        let routes = routes(None);
        let by_model = |path: &str, model: &'static str| {
            let target = routes.target(path).unwrap();
            let (upstream, model) = routes.by_model(&target, model)?;
            Some((upstream.base.clone(), model))
        };
        let chat = "/v1/chat/completions";
        assert_eq!(
            by_model(chat, "llama_server/gemma-3-1b-it-Q4_K_M.gguf"),
            Some(("http://127.0.0.1:8080/v1".to_owned(), "gemma-3-1b-it-Q4_K_M.gguf"))
        );
        assert_eq!(
            by_model(chat, "groq/llama/3"),
            Some(("https://api.groq.com/openai/v1".to_owned(), "llama/3"))
        );
        for (path, model) in [
            (chat, "gpt-4o"),
            (chat, "nobody/gpt-4o"),
            (chat, "anthropic/claude"),
            (chat, "groq/"),
            ("/openai/v1/chat/completions", "groq/llama"),
        ] {
            assert_eq!(by_model(path, model), None, "{path} {model}");
        }
        let fixed = super::tests::routes(Some("http://h.example/v1"));
        let target = fixed.target(chat).unwrap();
        assert!(fixed.by_model(&target, "groq/llama").is_none());
    }
}
