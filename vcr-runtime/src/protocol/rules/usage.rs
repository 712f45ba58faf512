use crate::json::{Json, Object};
use crate::model::Usage;
use crate::protocol::paths::Path;

use super::Rules;

/// What the token counts are called.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageRules {
    pub(super) prompt: Count,
    pub(super) completion: Count,
    pub(super) total: Count,
    pub(super) merge: bool,
    pub(super) details: Option<Vec<String>>,
}

/// Where one count stands.
#[derive(Clone, Debug)]
pub(super) enum Count {
    /// The first that is there.
    First(Vec<Path>),
    /// All that are there, added up.
    Sum(Vec<Path>),
}

impl Default for Count {
    fn default() -> Self {
        Self::First(Vec::new())
    }
}

impl Count {
    fn read(&self, usage: &Json) -> Option<u64> {
        let counts = |paths: &[Path]| -> Vec<u64> {
            paths
                .iter()
                .filter_map(|path| path.get(usage)?.as_u64())
                .collect()
        };
        match self {
            Self::First(paths) => counts(paths).first().copied(),
            Self::Sum(paths) => counts(paths).into_iter().reduce(u64::saturating_add),
        }
    }

    /// Whether the member follows from the count, so that it need not be kept.
    fn implies(&self, member: &str) -> bool {
        let is = |path: &Path| *path == Path::new(member);
        match self {
            Self::First(paths) => paths.iter().any(is),
            Self::Sum(paths) => paths.first().is_some_and(is),
        }
    }
}

impl Rules {
    /// A usage object with at least one count; servers also send objects full of nulls, which say nothing.
    pub(crate) fn usage(&self, usage: &Json) -> Option<Usage> {
        let rules = &self.usage;
        let members = usage.as_object()?;
        let (prompt, completion) = (rules.prompt.read(usage), rules.completion.read(usage));
        let total = rules.total.read(usage);
        prompt.or(completion).or(total)?;
        let mut read = Usage {
            prompt_tokens: prompt.unwrap_or(0),
            completion_tokens: completion.unwrap_or(0),
            ..Usage::default()
        };
        read.total_tokens =
            total.unwrap_or_else(|| read.prompt_tokens.saturating_add(read.completion_tokens));
        let is_detail = |name: &str| match &rules.details {
            Some(details) => details.iter().any(|detail| detail == name),
            None => true,
        };
        read.details = members
            .iter()
            // A count of a wrong type is kept as a detail, so that it is written back.
            .filter(|(name, value)| is_detail(name) && (!self.is_count(name) || value.as_u64().is_none()))
            .cloned()
            .collect();
        Some(read)
    }

    fn is_count(&self, member: &str) -> bool {
        let rules = &self.usage;
        [&rules.prompt, &rules.completion, &rules.total]
            .into_iter()
            .any(|count| count.implies(member))
    }
}

/// The usage of an answer so far.
#[derive(Debug, Default)]
pub(super) struct UsageSoFar {
    members: Object,
    pub(super) told: Option<Usage>,
}

impl UsageSoFar {
    /// Takes a usage object. `None` when it says nothing; else the usage by now, if that is news.
    pub(super) fn take(&mut self, rules: &Rules, usage: &Json) -> Option<Option<Usage>> {
        let read = rules.usage(usage)?;
        let read = match usage {
            Json::Object(members) if rules.usage.merge => {
                for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    self.members.set(name.clone(), value.clone());
                }
                rules.usage(&Json::Object(self.members.clone()))?
            }
            _ => read,
        };
        if self.told.as_ref() == Some(&read) {
            return Some(None);
        }
        self.told = Some(read.clone());
        Some(Some(read))
    }
}
