use super::Number;

/// A JSON document. Numbers keep their spelling, objects keep their key order and repeated keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Json {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Self>),
    Object(Object),
}

/// The members of an object in document order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(pub(crate) Vec<(String, Json)>);

impl Object {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `key`; of repeated keys the last, as every JSON reader of the providers' SDKs does.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0
            .iter_mut()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Removes every member of that name and returns the last one's value; the order of the others stays.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Json> {
        let mut last = None;
        let mut index = 0;
        while index < self.0.len() {
            if self.0[index].0 == key {
                last = Some(self.0.remove(index).1);
            } else {
                index += 1;
            }
        }
        last
    }

    /// Replaces the value of `key` in its place, or appends the member.
    pub(crate) fn set(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(slot) => *slot = value.into(),
            None => self.0.push((key, value.into())),
        }
    }

    /// Appends a member without looking for an earlier one of that name.
    pub(crate) fn push(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        self.0.push((key.into(), value.into()));
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (String, Json)> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Json {
    /// Puts the members of every object in the order of their names.
    pub(crate) fn sort(&mut self) {
        match self {
            Self::Array(items) => items.iter_mut().for_each(Self::sort),
            Self::Object(members) => {
                members.0.sort_by(|a, b| a.0.cmp(&b.0));
                members.0.iter_mut().for_each(|(_, value)| value.sort());
            }
            _ => {}
        }
    }

    /// The member `key` of an object; `None` on anything else.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// The element `index` of an array; `None` on anything else.
    pub(crate) fn at(&self, index: usize) -> Option<&Self> {
        self.as_array()?.get(index)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// What the value is, in the words of an error message.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(Number::from_u64(value))
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Number(Number::from_u64(u64::from(value)))
    }
}

impl From<u16> for Json {
    fn from(value: u16) -> Self {
        Self::Number(Number::from_u64(u64::from(value)))
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<Vec<Self>> for Json {
    fn from(value: Vec<Self>) -> Self {
        Self::Array(value)
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Self {
        Self::Object(value)
    }
}

impl From<Number> for Json {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_repeated_keys_wins_and_both_are_kept() {
        let document = super::super::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(document.get("a").and_then(Json::as_u64), Some(3));
        assert_eq!(document.as_object().unwrap().len(), 3);
    }

    #[test]
    fn set_keeps_the_place_of_a_member() {
        let mut object: Object = [("x".to_owned(), Json::Null), ("y".to_owned(), Json::Null)]
            .into_iter()
            .collect();
        object.set("x", true);
        object.set("z", 1_u64);
        let keys: Vec<_> = object.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["x", "y", "z"]);
        assert_eq!(object.remove("x"), Some(Json::Bool(true)));
        assert_eq!(object.len(), 2);
    }
}
