//! Output items with a word such as `$text` where a canonical part was, and the small differences between the forms that
//! one object has over a stream.

use crate::json::{Json, Object};

use super::words::{
    CALL_ID, LISTS, NAME, SIGNATURE, SLOT_ARGUMENTS, SLOT_ID, SLOT_NAME, SLOT_NATIVE, SLOT_SIGNATURE, Says,
    call_kind, is_canonical, part_kind,
};

/// In a patch: the members that the other form does not have.
pub(super) const WITHOUT: &str = "$without";

/// The item with its slots. A text's slot tells how many characters it takes, because frames do not tell where one
/// part ends and the next begins.
pub(super) fn skeleton(item: &Json) -> Json {
    if !is_canonical(item) {
        return SLOT_NATIVE.into();
    }
    let mut slotted = item.clone();
    let Some(members) = slotted.as_object_mut() else {
        return slotted;
    };
    for list in LISTS {
        let Some(Json::Array(parts)) = members.get_mut(list) else {
            continue;
        };
        for part in parts {
            let Some(kind) = part_kind(item, list, part) else {
                continue;
            };
            let Some(Json::String(text)) = part.as_object_mut().and_then(|part| part.get_mut(kind.member))
            else {
                continue;
            };
            if !text.is_empty() {
                *text = format!("{} {}", kind.says.slot(), text.chars().count());
            }
        }
    }
    put(members, SIGNATURE, SLOT_SIGNATURE);
    if let Some(kind) = call_kind(item) {
        put(members, kind.member, SLOT_ARGUMENTS);
        put(members, CALL_ID, SLOT_ID);
        put(members, NAME, SLOT_NAME);
    }
    slotted
}

fn put(members: &mut Object, name: &str, slot: &str) {
    if let Some(Json::String(text)) = members.get_mut(name)
        && !text.is_empty()
    {
        slot.clone_into(text);
    }
}

/// Lets the last slot of each kind take whatever is left, so that most templates need no numbers at all.
pub(super) fn open_last(items: &mut [Json]) {
    for says in Says::ALL {
        let last = items.iter_mut().rev().find_map(|item| {
            let members = item.as_object_mut()?;
            let list = LISTS.into_iter().rev().find(|list| {
                let parts = members.get(list).and_then(Json::as_array);
                parts.is_some_and(|parts| has_slot(parts, says))
            })?;
            last_slot(members.get_mut(list)?, says)
        });
        if let Some(slot) = last {
            says.slot().clone_into(slot);
        }
    }
}

fn has_slot(parts: &[Json], says: Says) -> bool {
    parts
        .iter()
        .filter_map(Json::as_object)
        .flat_map(Object::iter)
        .any(|(_, value)| value.as_str().is_some_and(|text| take(text, says).is_some()))
}

fn last_slot(list: &mut Json, says: Says) -> Option<&mut String> {
    let Json::Array(parts) = list else { return None };
    parts.iter_mut().rev().find_map(|part| {
        part.as_object_mut()?
            .0
            .iter_mut()
            .find_map(|(_, value)| match value {
                Json::String(text) if take(text, says).is_some() => Some(text),
                _ => None,
            })
    })
}

/// How much a slot takes: that many characters, or (`Some(None)`) all that is left. `None` when it is no slot of these.
pub(super) fn take(slot: &str, says: Says) -> Option<Option<usize>> {
    match slot.strip_prefix(says.slot())? {
        "" => Some(None),
        count => Some(Some(count.strip_prefix(' ')?.parse().ok()?)),
    }
}

/// The patch that makes `target` of `base`; empty when they are the same.
pub(super) fn diff(base: &Json, target: &Json) -> Object {
    let mut patch = Object::new();
    let (Some(base), Some(target)) = (base.as_object(), target.as_object()) else {
        return patch;
    };
    for (name, value) in target.iter() {
        if base.get(name) != Some(value) {
            patch.set(name.clone(), value.clone());
        }
    }
    let gone = base.iter().filter(|(name, _)| target.get(name).is_none());
    let gone: Vec<Json> = gone.map(|(name, _)| name.as_str().into()).collect();
    if !gone.is_empty() {
        patch.push(WITHOUT, gone);
    }
    patch
}

/// The other form.
pub(super) fn patched(base: &Json, patch: Option<&Json>) -> Json {
    let mut patched = base.clone();
    let (Some(members), Some(patch)) = (patched.as_object_mut(), patch.and_then(Json::as_object)) else {
        return patched;
    };
    for (name, value) in patch.iter() {
        if name != WITHOUT {
            members.set(name.clone(), value.clone());
        }
    }
    for gone in patch.get(WITHOUT).and_then(Json::as_array).unwrap_or_default() {
        members.remove(gone.as_str().unwrap_or_default());
    }
    patched
}

/// An item as it usually is when it is added.
pub(super) fn item_added(item: &Json) -> Json {
    let kind = call_kind(item);
    let canonical = is_canonical(item);
    with(item, |name, value| match (name, &value) {
        ("status", Json::String(_)) => "in_progress".into(),
        (list, Json::Array(_)) if canonical && LISTS.contains(&list) => Vec::new().into(),
        (member, _) if kind.is_some_and(|kind| kind.member == member) => "".into(),
        _ => value,
    })
}

/// A part as it usually is when it is added.
pub(super) fn part_added(part: &Json) -> Json {
    with(part, |name, value| match (name, &value) {
        ("text" | "refusal", Json::String(_)) => "".into(),
        ("annotations" | "logprobs", Json::Array(_)) => Vec::new().into(),
        _ => value,
    })
}

/// A response as it usually is when it is created.
pub(super) fn response_created(response: &Json) -> Json {
    with(response, |name, value| match name {
        "status" => "in_progress".into(),
        "output" => Vec::new().into(),
        "usage" | "completed_at" | "error" | "incomplete_details" => Json::Null,
        _ => value,
    })
}

fn with(object: &Json, change: impl Fn(&str, Json) -> Json) -> Json {
    let members = object.as_object().into_iter().flat_map(Object::iter);
    let changed = members.map(|(name, value)| (name.clone(), change(name, value.clone())));
    Json::Object(changed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    fn slotted(items: &str) -> String {
        let Json::Array(items) = parse(items).unwrap() else {
            panic!("a list")
        };
        let mut items: Vec<Json> = items.iter().map(skeleton).collect();
        open_last(&mut items);
        compact(&Json::Array(items))
    }

    #[test]
    fn slots_stand_for_every_canonical_part() {
        assert_eq!(
            slotted(
                r#"[{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"a\u00e9"},{"type":"summary_text","text":"b"}],"encrypted_content":"x"},
                {"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{}"},
                {"id":"ct","type":"custom_tool_call","call_id":"c","name":"f","input":"1+1"},
                {"id":"msg","type":"message","content":[{"type":"output_text","text":"Hi","annotations":[]},{"type":"refusal","refusal":"No."}]},
                {"id":"m2","type":"message","content":[{"type":"output_text","text":"Ho"},{"type":"output_text","text":""}]},
                {"id":"ws","type":"web_search_call"}]"#
            ),
            concat!(
                r#"[{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"$reasoning 2"},{"type":"summary_text","text":"$reasoning"}],"encrypted_content":"$signature"},"#,
                r#"{"id":"fc","type":"function_call","call_id":"$id","name":"$name","arguments":"$arguments"},"#,
                r#"{"id":"ct","type":"custom_tool_call","call_id":"$id","name":"$name","input":"$arguments"},"#,
                r#"{"id":"msg","type":"message","content":[{"type":"output_text","text":"$text 2","annotations":[]},{"type":"refusal","refusal":"$refusal"}]},"#,
                r#"{"id":"m2","type":"message","content":[{"type":"output_text","text":"$text"},{"type":"output_text","text":""}]},"$native"]"#
            )
        );
    }

    #[test]
    fn a_patch_makes_the_other_form() {
        for (base, target, patch) in [
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#, "{}"),
            (
                r#"{"a":1,"b":2}"#,
                r#"{"a":3,"c":null}"#,
                r#"{"a":3,"c":null,"$without":["b"]}"#,
            ),
        ] {
            let (base, target) = (parse(base).unwrap(), parse(target).unwrap());
            let found = Json::Object(diff(&base, &target));
            assert_eq!(compact(&found), patch);
            assert_eq!(diff(&patched(&base, Some(&found)), &target), Object::new());
        }
    }
}
