//! A cassette with an override document over it: some of its calls are answered as the document says, and the file stays as
//! it is.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{self, Pace};
use super::fill::Live;
use super::load::{document, unfit};
use super::overrides::{Entry, Overrides, Patch, Place};
use crate::config::OverrideFile;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Call, CanonicalRequest};
use crate::source::miss::describe_live;
use crate::source::{
    Answer, Ask, CassetteSource, Hang, LISTED, Left, Leftovers, Manner, NotTaken, Recorded, Source, Where,
};

/// One run of a cassette and of the document that overrides it.
#[derive(Debug)]
pub(crate) struct OverriddenSource {
    /// The cassette's file.
    path: PathBuf,
    id: String,
    document: PathBuf,
    over: Over,
}

#[derive(Debug)]
enum Over {
    /// Calls of the cassette, less those that are patched.
    Patched {
        cassette: Box<CassetteSource>,
        calls: usize,
        patches: Vec<Once<Patch>>,
    },
    /// A list instead of all calls. It goes by order alone, as nothing says what its requests were.
    Replaced { entries: Vec<Entry>, next: usize },
}

/// What is to be applied, and whether it was.
#[derive(Debug)]
struct Once<T> {
    it: T,
    used: bool,
}

/// What a patch made of a request.
struct Played {
    patch: usize,
    index: usize,
    call: Call,
    hang: Option<Hang>,
}

impl OverriddenSource {
    /// Puts a document over what `cassette` opens; as it is, where the document is not there and need not be.
    ///
    /// # Errors
    /// The first rule that the document breaks; whatever is wrong with the cassette, unless a list replaces all of it.
    pub(crate) fn open(
        directory: &Path,
        file: &OverrideFile,
        path: &Path,
        cassette: impl FnOnce() -> Result<CassetteSource>,
    ) -> Result<Box<dyn Source>> {
        let Some((document, overrides, digits)) = document(directory, file)? else {
            return Ok(Box::new(cassette()?));
        };
        let check = |calls: usize, frames: &[usize]| {
            let of = |number: usize| frames.get(number).copied().unwrap_or(0);
            let checked = overrides.check("cassette", calls, of);
            checked.map_err(|fault| unfit(fault, &document))
        };
        let (id, over) = match &overrides {
            Overrides::Replace(entries) => {
                check(0, &[])?;
                let entries = entries.clone();
                (digits, Over::Replaced { entries, next: 0 })
            }
            Overrides::Patch(patches) => {
                let cassette = cassette()?;
                let frames = cassette.frames();
                check(frames.len(), &frames)?;
                let unused = |patch: &Patch| Once {
                    it: patch.clone(),
                    used: false,
                };
                let id = cassette.id().to_owned();
                let patches = patches.iter().map(unused).collect();
                let calls = frames.len();
                let over = Over::Patched {
                    cassette: Box::new(cassette),
                    calls,
                    patches,
                };
                (id, over)
            }
        };
        Ok(Box::new(Self {
            path: path.to_owned(),
            id,
            document,
            over,
        }))
    }

    /// The next entry of a list.
    fn next(&mut self, ask: &Ask<'_>) -> Result<Answer, NotTaken> {
        let Over::Replaced { entries, next } = &mut self.over else {
            return Err(NotTaken::Over);
        };
        let index = *next;
        let entry = entries.get(index).ok_or(NotTaken::Over)?;
        let played = play(entry, None, ask);
        let (call, hang) = played
            .map_err(|says| unplayable(&format!("entry {index}"), &self.document, &says))
            .map_err(NotTaken::Refused)?;
        (ask.servable)(&call).map_err(NotTaken::Refused)?;
        *next += 1;
        Ok(answer(index, call, hang, Recorded::Nothing))
    }
}

/// The call that a patch makes of the recorded one that a request would take, unless none is due there.
fn patched(
    patches: &[Once<Patch>],
    index: usize,
    base: Option<&Call>,
    ask: &Ask<'_>,
    document: &Path,
) -> Result<Option<Played>> {
    let due = |place: Place| {
        let open = |patch: &Once<Patch>| !patch.used || matches!(place, Place::At(_));
        patches
            .iter()
            .position(|patch| patch.it.place == place && open(patch))
    };
    // What stands in front of a call comes first, each once; what stands in its place as often as the call is asked for.
    let Some(patch) = due(Place::Before(index)).or_else(|| due(Place::At(index))) else {
        return Ok(None);
    };
    let (call, hang) = play(&patches[patch].it.entry, base, ask)
        .map_err(|says| unplayable(&format!("patch {patch}"), document, &says))?;
    (ask.servable)(&call)?;
    Ok(Some(Played {
        patch,
        index,
        call,
        hang,
    }))
}

fn play(entry: &Entry, base: Option<&Call>, ask: &Ask<'_>) -> Result<(Call, Option<Hang>), String> {
    let live = Live::new(&ask.request.messages, vec![ask.how.session]);
    entry::play(entry, base, Pace::default(), &live, ask.request)
}

fn unplayable(place: &str, document: &Path, says: &str) -> Error {
    let message = format!(
        "{place} of the override file {} cannot be played: {says}",
        document.display()
    );
    Error::new(ErrorKind::Miss, message, "")
}

fn answer(index: usize, call: Call, hang: Option<Hang>, recorded: Recorded) -> Answer {
    Answer {
        index,
        call: Arc::new(call),
        manner: Manner { timed: false, hang },
        recorded,
    }
}

impl Source for OverriddenSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &str {
        &self.id
    }

    /// The cassette decides which of its calls a request is for, by whatever matching; then the document may say how that
    /// one is answered.
    fn take(&mut self, ask: &Ask<'_>) -> Result<Answer, NotTaken> {
        let Over::Patched {
            cassette,
            calls,
            patches,
        } = &mut self.over
        else {
            return self.next(ask);
        };
        let document = &self.document;
        let found: Cell<Option<Played>> = Cell::new(None);
        let look = |index: usize, call: &Call| {
            let Some(played) = patched(patches, index, Some(call), ask, document)? else {
                return (ask.servable)(call);
            };
            let before = matches!(patches[played.patch].it.place, Place::Before(_));
            found.set(Some(played));
            match before {
                // Refused, it stays where it is, for the request that comes next.
                true => Err(Error::new(
                    ErrorKind::Miss,
                    "another answer stands in front of it",
                    "",
                )),
                false => Ok(()),
            }
        };
        let taken = cassette.take_where(ask, look);
        let (played, recorded) = match (found.into_inner(), taken) {
            (Some(played), Ok(answer)) => (played, Recorded::Other(answer.call)),
            (Some(played), Err(_)) => (played, Recorded::Nothing),
            (None, Ok(answer)) => return Ok(answer),
            (None, Err(refused @ NotTaken::Refused(_))) => return Err(refused),
            (None, Err(not_taken)) => {
                let is_open = |patch: &Once<Patch>| patch.it.place == Place::At(*calls) && !patch.used;
                // Behind the last call comes what is appended, and nothing says what its request was.
                if !patches.iter().any(is_open) || !cassette.leftovers().left.is_empty() {
                    return Err(not_taken);
                }
                let appended = patched(patches, *calls, None, ask, document).map_err(NotTaken::Refused)?;
                (appended.ok_or(not_taken)?, Recorded::Nothing)
            }
        };
        patches[played.patch].used = true;
        Ok(answer(played.index, played.call, played.hang, recorded))
    }

    fn explain(&self, live: &CanonicalRequest, why: NotTaken, place: Where<'_>) -> Error {
        let document = self.document.display();
        match &self.over {
            Over::Patched {
                cassette, patches, ..
            } => {
                let used = patches.iter().filter(|patch| patch.used).count();
                let of = patches.len();
                cassette
                    .explain(live, why, place)
                    .and(&format!("\n  override  {document} ({used} of {of} applied)"))
            }
            Over::Replaced { entries, next } => {
                let mut text = match why {
                    NotTaken::Refused(error) => error.message().to_owned(),
                    _ => "every entry of the override file has been used".to_owned(),
                };
                let _ = write!(text, "\n  test      {}", place.test);
                let _ = write!(
                    text,
                    "\n  override  {document} ({next} of {} entries used)",
                    entries.len()
                );
                if !place.private {
                    let _ = write!(text, "\n  request   {}", describe_live(live));
                }
                let advice = "if the program is right to ask once more, append an entry to the list";
                Error::new(ErrorKind::Miss, text, advice).at(&self.document)
            }
        }
    }

    fn leftovers(&self) -> Leftovers {
        match &self.over {
            Over::Patched { cassette, .. } => cassette.leftovers(),
            Over::Replaced { .. } => Leftovers::default(),
        }
    }

    fn unapplied(&self) -> Option<(&Path, Leftovers)> {
        let (all, left): (usize, Vec<Left>) = match &self.over {
            Over::Patched { calls, patches, .. } => {
                let unused = patches.iter().enumerate().filter(|(_, patch)| !patch.used);
                let left = unused.map(|(index, patch)| Left {
                    name: format!("patch {index}"),
                    about: format!("{} {}", patch.it.entry.kind(), place(patch.it.place, *calls)),
                    answers: 1,
                });
                (patches.len(), left.collect())
            }
            Over::Replaced { entries, next } => {
                let unused = entries.iter().enumerate().skip(*next);
                let left = unused.map(|(index, entry)| Left {
                    name: format!("entry {index}"),
                    about: entry.kind().to_owned(),
                    answers: 1,
                });
                (entries.len(), left.collect())
            }
        };
        let leftovers = Leftovers {
            noun: "override",
            unit: "override",
            remedy: None,
            all,
            besides: None,
            left,
            listed: LISTED,
        };
        (!leftovers.left.is_empty()).then_some((&*self.document, leftovers))
    }
}

/// The document counts calls from 0, and reports count them from 1.
fn place(place: Place, calls: usize) -> String {
    match place {
        Place::Before(number) => format!("before {number}, which is call {} of the cassette", number + 1),
        Place::At(number) if number == calls => format!("at {number}, behind the last call of the cassette"),
        Place::At(number) => format!("at {number}, which is call {} of the cassette", number + 1),
    }
}

#[cfg(test)]
#[path = "overridden_tests.rs"]
mod tests;
