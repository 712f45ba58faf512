use std::collections::BTreeMap;

use crate::json::{Json, compact};
use crate::model::Usage;
use crate::protocol::Event;
use crate::protocol::paths::{Path, Step, dotted};

use super::Rules;
use super::reading::{Field, Hit, Reading};
use super::table::{Comes, Node, Tool};
use super::tools::{Fragment, ToolCalls, index};
use super::usage::UsageSoFar;

/// Reads the payloads of one answer by its provider's rules.
#[derive(Debug)]
pub(crate) struct Reader {
    rules: &'static Rules,
    choices: BTreeMap<u32, Choice>,
    usage: UsageSoFar,
    ended: bool,
    failed: bool,
    /// The HTTP status, where it tells of an error.
    status: Option<u16>,
}

/// What has been seen of a choice.
#[derive(Debug, Default)]
struct Choice {
    finish: Option<String>,
    tools: ToolCalls,
}

/// Where in a payload the reader is.
#[derive(Clone, Copy, Debug)]
struct Place {
    choice: u32,
    index: Option<u32>,
    /// The position in the array that `each` walks.
    position: usize,
}

/// One payload on its way.
struct Run<'o> {
    event: Option<&'o str>,
    out: &'o mut Vec<Event>,
    reading: Reading,
    /// From the payload to the current value.
    steps: Vec<Step<'static>>,
}

impl Reader {
    pub(crate) fn new(rules: &'static Rules) -> Self {
        Self {
            rules,
            choices: BTreeMap::new(),
            usage: UsageSoFar::default(),
            ended: false,
            failed: false,
            status: None,
        }
    }

    /// Reads one payload of a stream; `event` is its `event:` name. What it says is appended to `out`.
    pub(crate) fn event(&mut self, event: Option<&str>, payload: &Json, out: &mut Vec<Event>) -> Reading {
        let rules = self.rules;
        self.read(&rules.events, event, payload, out)
    }

    /// Reads a unary body. What came with an HTTP status of 400 and more is an error, whatever it looks like.
    pub(crate) fn body(&mut self, status: u16, body: &Json, out: &mut Vec<Event>) -> Reading {
        let rules = self.rules;
        self.status = (status >= 400).then_some(status);
        let reading = self.read(&rules.bodies, None, body, out);
        if self.status.is_some() && !self.failed {
            self.failed = true;
            out.push(Event::Error(rules.error(self.status, body)));
        }
        reading
    }

    pub(crate) fn rules(&self) -> &'static Rules {
        self.rules
    }

    /// The usage so far.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.usage.told.as_ref()
    }

    /// Whether an error has come.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Notes the end marker where it is no payload.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether nothing is to come by the protocol's own rules.
    pub(crate) fn is_complete(&self) -> bool {
        let all_finished = || {
            let mut choices = self.choices.values();
            !self.choices.is_empty() && choices.all(|choice| choice.finish.is_some())
        };
        self.ended || self.failed || (self.rules.stream.closed_by_finish && all_finished())
    }

    fn read(
        &mut self,
        nodes: &'static [Node],
        event: Option<&str>,
        payload: &Json,
        out: &mut Vec<Event>,
    ) -> Reading {
        let mut run = Run {
            event,
            out,
            reading: Reading::default(),
            steps: Vec::new(),
        };
        let place = Place {
            choice: 0,
            index: None,
            position: 0,
        };
        run.reading.node = self.first(nodes, payload, place, &mut run);
        run.reading
    }

    /// Applies the first table whose conditions hold.
    fn first(
        &mut self,
        nodes: &'static [Node],
        value: &Json,
        place: Place,
        run: &mut Run<'_>,
    ) -> Option<&'static Node> {
        let node = nodes.iter().find(|node| run.holds(node, value))?;
        self.node(node, value, place, run);
        Some(node)
    }

    fn node(&mut self, node: &'static Node, value: &Json, place: Place, run: &mut Run<'_>) {
        let depth = run.steps.len();
        let value = match &node.at {
            Some(at) => at.find(value, &mut run.steps),
            None => Some(value),
        };
        match (value, &node.each) {
            (Some(value @ Json::Object(_)), None) => self.value(node, value, place, run),
            // Whether anything else may stand there, the table around tells.
            (Some(value), None) if node.at.is_none() => self.value(node, value, place, run),
            (Some(value), Some(each)) => {
                if let Some(Json::Array(items)) = each.find(value, &mut run.steps) {
                    self.items(node, items, place, run);
                }
            }
            _ => {}
        }
        run.steps.truncate(depth);
    }

    fn items(&mut self, node: &'static Node, items: &[Json], place: Place, run: &mut Run<'_>) {
        for (position, item) in items.iter().enumerate() {
            run.steps.push(Step::Index(position));
            let before = run.reading.hits.len();
            self.value(node, item, Place { position, ..place }, run);
            if !matches!(item, Json::Object(_)) && run.reading.hits.len() == before {
                run.odd(&[], item);
            }
            run.steps.pop();
        }
    }

    /// Applies a table to its value.
    fn value(&mut self, node: &'static Node, value: &Json, place: Place, run: &mut Run<'_>) {
        let place = Self::place(node, value, place);
        for (path, kinds) in &node.accepts {
            if let Some(found) = path.get(value).filter(|found| !kinds.has(found)) {
                let mut steps = Vec::new();
                path.find(value, &mut steps);
                run.odd(&steps, found);
            }
        }
        self.texts(node, value, place, run);
        if let (Some(tool), Json::Object(_)) = (&node.tool, value) {
            self.tool(node, tool, value, place, run);
        }
        for part in node
            .parts
            .iter()
            .filter(|part| run.holds(part, value))
            .collect::<Vec<_>>()
        {
            self.node(part, value, place, run);
        }
        self.first(&node.kinds, value, place, run);
        self.finish(node, value, place, run);
        self.usage_of(node, value, place, run);
        if let Some(steps) = run
            .first_that(&node.error, value, |_| true)
            .map(|(steps, _)| steps)
        {
            self.failed = true;
            run.hit(node, Field::Error, place, steps);
            run.out.push(Event::Error(self.rules.error(self.status, value)));
        }
        if node.end {
            self.ended = true;
            run.out.push(Event::End);
        }
    }

    fn place(node: &Node, value: &Json, place: Place) -> Place {
        let number = |paths: &[Path]| paths.iter().find_map(|path| index(path.get(value)));
        let mut choice = place.choice;
        if !node.choice.is_empty() {
            choice = number(&node.choice)
                .or_else(|| u32::try_from(place.position).ok())
                .unwrap_or(0);
        }
        Place {
            choice,
            index: number(&node.index).or(place.index),
            position: place.position,
        }
    }

    fn texts(&mut self, node: &'static Node, value: &Json, place: Place, run: &mut Run<'_>) {
        let choice = place.choice;
        let entries = [
            (Field::Reasoning, &node.reasoning),
            (Field::Signature, &node.signature),
            (Field::Text, &node.text),
            (Field::Refusal, &node.refusal),
        ];
        for (field, paths) in entries {
            let Some((steps, text)) = run.first_that(paths, value, is_telling) else {
                continue;
            };
            let text = text.as_str().unwrap_or_default().to_owned();
            self.choices.entry(choice).or_default();
            run.hit(node, field, place, steps);
            run.out.push(match field {
                Field::Reasoning => Event::Reasoning { choice, text },
                Field::Signature => Event::Signature { choice, text },
                Field::Refusal => Event::Refusal { choice, text },
                _ => Event::Text { choice, text },
            });
        }
        let native = node.native.as_slice();
        if let Some((steps, block)) = run.first_that(native, value, |_| true) {
            let block = block.clone();
            self.choices.entry(choice).or_default();
            run.hit(node, Field::Native, place, steps);
            run.out.push(Event::Native { choice, block });
        }
    }

    fn tool(
        &mut self,
        node: &'static Node,
        tool: &'static Tool,
        value: &Json,
        place: Place,
        run: &mut Run<'_>,
    ) {
        let id = run.first_that(&tool.id, value, is_telling);
        let name = run.first_that(&tool.name, value, is_telling);
        let arguments = run.first_that(&tool.arguments, value, |_| true);
        let text = |found: &Option<(Vec<Step<'static>>, &Json)>| {
            let value = found.as_ref()?.1.as_str()?;
            Some(value.to_owned())
        };
        let tools = &mut self.choices.entry(place.choice).or_default().tools;
        let (id_text, name_text) = (text(&id), text(&name));
        let (id_text, name_text) = (id_text.as_deref(), name_text.as_deref());
        let Fragment {
            index,
            position,
            id: new_id,
            name: new_name,
            is_new,
        } = match tool.comes {
            Comes::More if !tools.knows(place.index) => return,
            Comes::Fragments | Comes::More => tools.fragment(place.index, id_text, name_text),
            Comes::Whole => tools.whole(place.index, id_text, name_text),
            Comes::Single => tools.fragment(Some(0), None, name_text),
        };
        let index = if self.rules.tools.by_order {
            position
        } else {
            index
        };
        run.reading.hits.push(Hit {
            field: Field::Tool,
            choice: place.choice,
            is_new,
            node,
            steps: run.steps.clone(),
        });
        // Servers that send an object instead of text are read as its compact text.
        let told = match arguments.as_ref().map(|(_, value)| *value) {
            None => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(other) => compact(other),
        };
        for (field, found) in [
            (Field::ToolId, id),
            (Field::ToolName, name),
            (Field::ToolArguments, arguments),
        ] {
            if let Some((steps, _)) = found {
                run.hit(node, field, place, steps);
            }
        }
        run.out.push(Event::Tool {
            choice: place.choice,
            index,
            id: new_id,
            name: new_name,
            arguments: told,
        });
    }

    fn finish(&mut self, node: &'static Node, value: &Json, place: Place, run: &mut Run<'_>) {
        if node.finish.is_empty() && node.finish_else.is_none() {
            return;
        }
        let rules = self.rules;
        let choice = self.choices.entry(place.choice).or_default();
        let stated = run.first_that(&node.finish, value, is_telling);
        let word = match (&stated, &node.finish_else) {
            (Some((_, word)), _) => word.as_str().unwrap_or_default(),
            (None, Some(word)) => word.as_str(),
            (None, None) => return,
        };
        let mut reason = rules.finish(word);
        if choice.tools.any() && rules.tools.finish.iter().any(|word| word == reason) {
            reason = "tool_calls";
        }
        let native = run.first_that(&node.native_finish, value, is_telling);
        let told = native
            .as_ref()
            .and_then(|(_, native)| native.as_str())
            .unwrap_or(word);
        let is_news = choice.finish.as_deref() != Some(reason);
        choice.finish = Some(reason.to_owned());
        let event = Event::Finish {
            choice: place.choice,
            reason: reason.to_owned(),
            native: (told != reason).then(|| told.to_owned()),
        };
        if let Some((steps, _)) = stated {
            run.hit(node, Field::Finish, place, steps);
        }
        if let Some((steps, _)) = native {
            run.hit(node, Field::NativeFinish, place, steps);
        }
        if is_news {
            run.out.push(event);
        }
    }

    fn usage_of(&mut self, node: &'static Node, value: &Json, place: Place, run: &mut Run<'_>) {
        for (number, path) in node.usage.iter().enumerate() {
            // Twins of the usage count only where there is no other.
            if number > 0 && self.usage.told.is_some() {
                return;
            }
            let mut steps = run.steps.clone();
            let Some(found) = path.find(value, &mut steps) else {
                continue;
            };
            if let Some(news) = self.usage.take(self.rules, found) {
                run.hit(node, Field::Usage, place, steps);
                run.out.extend(news.map(Event::Usage));
                return;
            }
        }
    }
}

impl Run<'_> {
    fn holds(&self, node: &Node, value: &Json) -> bool {
        node.when
            .iter()
            .all(|condition| condition.holds(self.event, value))
    }

    /// The first value of `paths` that is not null and pleases, and the steps to it from the payload.
    fn first_that<'v>(
        &self,
        paths: &'static [Path],
        value: &'v Json,
        pleases: fn(&Json) -> bool,
    ) -> Option<(Vec<Step<'static>>, &'v Json)> {
        paths.iter().find_map(|path| {
            let found = path
                .get(value)
                .filter(|found| !found.is_null() && pleases(found))?;
            let mut steps = self.steps.clone();
            path.find(value, &mut steps)?;
            Some((steps, found))
        })
    }

    fn hit(&mut self, node: &'static Node, field: Field, place: Place, steps: Vec<Step<'static>>) {
        self.reading.hits.push(Hit {
            field,
            choice: place.choice,
            is_new: false,
            node,
            steps,
        });
    }

    fn odd(&mut self, below: &[Step<'_>], found: &Json) {
        let place = [&self.steps, below].concat();
        self.reading
            .odd
            .get_or_insert_with(|| format!("has `{}` that is {}", dotted(&place), found.kind()));
    }
}

/// Empty texts say nothing, and what is no text is none.
fn is_telling(value: &Json) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}
