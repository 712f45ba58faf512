use crate::json::Json;

/// Which call a fragment of one choice belongs to. Servers disagree on what tells calls apart: the index, the id, or
/// only that a whole call arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolCalls(Vec<Known>);

#[derive(Clone, Debug)]
struct Known {
    index: u32,
    id: Option<String>,
    name: Option<String>,
}

/// What a fragment adds to its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) index: u32,
    /// In the order of appearance.
    pub(crate) position: u32,
    /// Only when it was not known before.
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) is_new: bool,
}

impl ToolCalls {
    /// `index` is the fragment's own, where it has one.
    pub(crate) fn fragment(&mut self, index: Option<u32>, id: Option<&str>, name: Option<&str>) -> Fragment {
        let id = id.filter(|id| !id.is_empty());
        let name = name.filter(|name| !name.is_empty());
        let place = match index {
            Some(index) => self.by_index(index, id, name),
            None => self.by_id(id, name),
        };
        let is_new = place.is_none();
        let place = place.unwrap_or_else(|| self.open(index));
        self.learn(place, is_new, id, name)
    }

    /// A call that came in one piece.
    pub(crate) fn whole(&mut self, index: Option<u32>, id: Option<&str>, name: Option<&str>) -> Fragment {
        let place = self.open(index);
        self.learn(place, true, id, name)
    }

    fn open(&mut self, index: Option<u32>) -> usize {
        let is_free = |index: &u32| self.0.iter().all(|known| known.index != *index);
        let index = index.filter(is_free).unwrap_or_else(|| self.next_index());
        self.0.push(Known {
            index,
            id: None,
            name: None,
        });
        self.0.len() - 1
    }

    fn learn(&mut self, place: usize, is_new: bool, id: Option<&str>, name: Option<&str>) -> Fragment {
        let known = &mut self.0[place];
        Fragment {
            index: known.index,
            position: u32::try_from(place).unwrap_or(u32::MAX),
            id: learn(&mut known.id, id),
            name: learn(&mut known.name, name),
            is_new,
        }
    }

    /// Whether a fragment with that index continues a call.
    pub(crate) fn knows(&self, index: Option<u32>) -> bool {
        match index {
            Some(index) => self.0.iter().any(|known| known.index == index),
            None => self.any(),
        }
    }

    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// A second whole call under the index of the first is a call of its own: some servers send 0 for all of them.
    fn by_index(&self, index: u32, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let starts_another =
            |known: &Known| name.is_some() && id.is_some() && known.id.is_some() && known.id.as_deref() != id;
        let same_index = self.0.iter().position(|known| known.index == index)?;
        if !starts_another(&self.0[same_index]) {
            return Some(same_index);
        }
        self.0.iter().position(|known| known.id.as_deref() == id)
    }

    fn by_id(&self, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        match (id, name) {
            (Some(_), _) => self.0.iter().position(|known| known.id.as_deref() == id),
            (None, Some(_)) => None,
            (None, None) => self.0.len().checked_sub(1),
        }
    }

    fn next_index(&self) -> u32 {
        self.0.iter().map(|known| known.index + 1).max().unwrap_or(0)
    }
}

fn learn(known: &mut Option<String>, said: Option<&str>) -> Option<String> {
    if known.is_some() {
        return None;
    }
    *known = said.map(str::to_owned);
    known.clone()
}

/// An index of the wire; out of range it is none.
pub(crate) fn index(value: Option<&Json>) -> Option<u32> {
    // The limit keeps `index + 1` in range whatever a server sends.
    value
        .and_then(Json::as_u64)
        .and_then(|index| u32::try_from(index).ok())
        .filter(|index| *index < u32::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(fragments: &[(Option<u32>, Option<&str>, Option<&str>)]) -> Vec<u32> {
        let mut calls = ToolCalls::default();
        fragments
            .iter()
            .map(|(index, id, name)| calls.fragment(*index, *id, *name).index)
            .collect()
    }

    #[test]
    fn fragments_follow_their_index() {
        let fragments = [
            (Some(0), Some("a"), Some("f")),
            (Some(1), Some("b"), Some("g")),
            (Some(0), None, None),
            (Some(1), Some(""), Some("")),
        ];
        assert_eq!(seen(&fragments), [0, 1, 0, 1]);
    }

    #[test]
    fn without_an_index_a_whole_call_is_a_new_one() {
        assert_eq!(
            seen(&[(None, Some("c"), Some("f")), (None, Some("d"), Some("f"))]),
            [0, 1]
        );
        assert_eq!(
            seen(&[
                (None, None, Some("f")),
                (None, None, None),
                (None, None, Some("f"))
            ]),
            [0, 0, 1]
        );
        assert_eq!(
            seen(&[(None, Some("c"), Some("f")), (None, Some("c"), None)]),
            [0, 0]
        );
    }

    #[test]
    fn whole_calls_that_share_an_index_are_kept_apart() {
        let fragments = [
            (Some(0), Some("a"), Some("f")),
            (Some(0), Some("b"), Some("g")),
            (Some(0), Some("b"), Some("g")),
        ];
        assert_eq!(seen(&fragments), [0, 1, 1]);
    }

    #[test]
    fn repeated_ids_and_names_are_told_once() {
        let mut calls = ToolCalls::default();
        let first = calls.fragment(Some(0), Some("a"), None);
        assert_eq!(
            (first.id.as_deref(), first.name, first.is_new),
            (Some("a"), None, true)
        );
        let second = calls.fragment(Some(0), Some("a"), Some("f"));
        assert_eq!(
            (second.id, second.name.as_deref(), second.is_new),
            (None, Some("f"), false)
        );
        let third = calls.fragment(Some(0), Some("a"), Some("f"));
        assert_eq!((third.id, third.name), (None, None));
    }
}
