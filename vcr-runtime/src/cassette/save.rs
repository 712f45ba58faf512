//! Writing a cassette: merge into the ring, render, scan, then replace the file in one step.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::decode::take_of;
use super::encode::take_document;
use super::file::{Outline, outline, parser, read};
use super::layout;
use super::same::equal_but_for_ids_and_times;
use super::version::{CURRENT, Compatibility};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, Object, parse};
use crate::model::Take;

/// How many takes a cassette keeps.
const RING: usize = 5;

/// What is written about the recording besides the take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// The scenario, `auto` when the call had none.
    pub(crate) scenario: &'a str,
    /// The full path of the test.
    pub(crate) test: Option<&'a str>,
}

/// What saving did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// The file was written.
    Written,
    /// The newest take says the same but for ids and times; the file was left alone.
    Unchanged,
}

/// The side file of a cassette: `a.json` has `a.new.json`.
pub(crate) fn side_path(cassette: &Path) -> PathBuf {
    cassette.with_extension("new.json")
}

/// A free place for what an interrupted recording left: `a.interrupted.json`, else `a.interrupted-2.json` and so on. Each
/// was paid for, so that none takes the place of another.
pub(crate) fn interrupted_path(cassette: &Path) -> PathBuf {
    let first = cassette.with_extension("interrupted.json");
    let more = (2_u32..).map(|number| cassette.with_extension(format!("interrupted-{number}.json")));
    std::iter::once(first.clone())
        .chain(more)
        .find(|path| !path.exists() && !path.is_symlink())
        .unwrap_or(first)
}

/// Merges `take` into the ring that `cassette` holds and writes the result to `target` (the cassette itself, or its side
/// file, so that adopting is a rename). `scan` sees the final text and refuses it by returning what it found.
///
/// The caller holds the cassette's journal, so no other recording is under way.
///
/// # Errors
/// A cassette that cannot be read is never overwritten: its error is returned. `Secret`, `CassetteVersion`, `Io`.
pub(crate) fn save(
    cassette: &Path,
    target: &Path,
    head: Head<'_>,
    take: &Take,
    scan: &dyn Fn(&str) -> Option<String>,
) -> Result<Saved> {
    let old = match fs::exists(cassette) {
        Ok(true) => Some(read(cassette)?),
        Ok(false) => None,
        Err(error) => return Err(Error::io("look for the cassette", cassette, &error)),
    };
    let merged = match &old {
        None => merge(cassette, Outline::default(), head, take)?,
        Some(text) => {
            let outline = outline(cassette, text, None)?;
            refuse_newer(cassette, &outline)?;
            if target == cassette && is_same_as_latest(&outline, take) {
                return Ok(Saved::Unchanged);
            }
            merge(cassette, outline, head, take)?
        }
    };
    if let Some(found) = scan(&merged) {
        return Err(Error::new(
            ErrorKind::Secret,
            format!("{} was not written, because {found}", target.display()),
            "add a rule for it under [redact] in vcr.toml; the old file is untouched",
        )
        .at(target));
    }
    replace(cassette, target, &merged)?;
    Ok(Saved::Written)
}

fn refuse_newer(cassette: &Path, outline: &Outline<'_>) -> Result<()> {
    let version = outline.version.unwrap_or(CURRENT);
    if version.compatibility() == Compatibility::Full {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::CassetteVersion,
        format!(
            "{} has cassette format {version}, and writing format {CURRENT} over it would lose what is new in it",
            cassette.display()
        ),
        "update vcr-runtime before recording it again",
    )
    .at(cassette))
}

fn is_same_as_latest(outline: &Outline<'_>, take: &Take) -> bool {
    let Some(latest) = &outline.latest else {
        return false;
    };
    let Some((_, part)) = outline.takes.iter().find(|(id, _)| id == latest) else {
        return false;
    };
    take_of(latest, &mut parser(part)).is_ok_and(|old| equal_but_for_ids_and_times(&old.take, take))
}

/// The text of the whole file with the new take as its latest.
fn merge(cassette: &Path, outline: Outline<'_>, head: Head<'_>, take: &Take) -> Result<String> {
    let mut takes: Vec<(String, Json)> = Vec::new();
    for (id, text) in outline.takes {
        let document = parse(text).map_err(|error| {
            Error::new(
                ErrorKind::CassetteBroken,
                format!("{}: {error}", cassette.display()),
                "",
            )
        })?;
        takes.push((id, document));
    }
    // Takes that the history does not name were put in by hand: they count as the oldest.
    let mut history: Vec<String> = takes
        .iter()
        .map(|(id, _)| id.clone())
        .filter(|id| !outline.history.contains(id))
        .collect();
    history.extend(
        outline
            .history
            .into_iter()
            .filter(|id| takes.iter().any(|(known, _)| known == id)),
    );
    history.retain(|id| *id != take.trace_id);
    takes.retain(|(id, _)| *id != take.trace_id);
    history.push(take.trace_id.clone());
    takes.push((take.trace_id.clone(), take_document(take)));
    let evicted: Vec<String> = history.drain(..history.len().saturating_sub(RING)).collect();
    takes.retain(|(id, _)| !evicted.contains(id));
    takes.sort_by_key(|(id, _)| history.iter().position(|known| known == id));

    let mut document = Object::new();
    document.push("format_version", CURRENT.to_json());
    document.push("scenario", head.scenario);
    if let Some(test) = head.test.map(str::to_owned).or(outline.test) {
        document.push("test", test);
    }
    document.push(
        "recorded_with",
        concat!("vcr-runtime ", env!("CARGO_PKG_VERSION")),
    );
    document.push("latest_trace_id", take.trace_id.as_str());
    document.push(
        "history_keys",
        history.into_iter().map(Json::from).collect::<Vec<_>>(),
    );
    document.push("traces", Json::Object(takes.into_iter().collect()));
    let known = |key: &str| matches!(key, "scenario" | "recorded_with");
    document
        .0
        .extend(outline.others.into_iter().filter(|(key, _)| !known(key)));
    Ok(layout::file(&Json::Object(document)))
}

/// How the names of the temporary files of a cassette begin: nobody takes them for a cassette, and each knows its own.
fn temporary_prefix(cassette: &Path) -> OsString {
    let mut prefix = OsString::from(".vcr-");
    prefix.push(cassette.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

/// How they end.
const TEMPORARY: &str = ".tmp";
/// The random letters and digits in between.
const RANDOM: usize = 8;

/// Removes the temporary files of saves that were killed half-way. What cannot be removed does no harm.
///
/// The caller holds the cassette's journal, so that no save of it is under way.
pub(super) fn sweep(cassette: &Path) {
    let Some(entries) = cassette
        .parent()
        .and_then(|directory| fs::read_dir(directory).ok())
    else {
        return;
    };
    let prefix = temporary_prefix(cassette);
    let is_own = |name: &OsStr| {
        let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        rest.and_then(|rest| rest.strip_suffix(TEMPORARY.as_bytes()))
            .is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
    };
    for entry in entries.flatten() {
        if is_own(&entry.file_name()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Old or new, never half: a temporary file in the same directory, synced, then renamed. `target` is `cassette`, or a file
/// beside it.
pub(crate) fn replace(cassette: &Path, target: &Path, text: &str) -> Result<()> {
    let directory = target.parent().unwrap_or(Path::new("."));
    let prefix = temporary_prefix(cassette);
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(directory)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(TEMPORARY).rand_bytes(RANDOM);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // The umask applies, as for any file that people commit.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        if let Ok(metadata) = fs::metadata(target) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(target)?;
        // The rename itself is durable once the directory is synced; file systems that cannot do that are no reason to
        // lose a recording that is already in place.
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
        Ok(())
    };
    write().map_err(|error| Error::io("write", target, &error))
}

#[cfg(test)]
mod tests {
    use super::super::file::{Cassette, Chosen, owner};
    use super::*;
    use crate::json::{Place, block};
    use crate::model::{Call, Frame};

    fn take(id: &str, text: &str) -> Take {
        let frames = vec![Frame {
            chunk: text.to_owned(),
            ..Frame::default()
        }];
        Take {
            trace_id: id.to_owned(),
            calls: vec![Call {
                frames: frames.into(),
                ..Call::default()
            }],
        }
    }

    fn record(path: &Path, take: &Take) -> Result<Saved> {
        save(
            path,
            path,
            Head {
                scenario: "s",
                test: Some("t"),
            },
            take,
            &|_| None,
        )
    }

    #[test]
    fn the_ring_keeps_five_and_the_newest_wins() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        for id in ["1", "2", "3", "4", "5", "6"] {
            assert_eq!(record(&path, &take(id, id)).unwrap(), Saved::Written);
        }
        let text = fs::read_to_string(&path).unwrap();
        let outline = outline(&path, &text, None).unwrap();
        assert_eq!(outline.history, ["2", "3", "4", "5", "6"]);
        assert_eq!(outline.takes.len(), 5);
        assert_eq!(
            Cassette::open(&path, Chosen::Latest).unwrap().take.calls[0].frames[0].chunk,
            "6"
        );
        // Saving an id again moves it to the newest place.
        record(&path, &take("3", "again")).unwrap();
        let cassette = Cassette::open(&path, Chosen::Latest).unwrap();
        assert_eq!(
            (cassette.take.trace_id.as_str(), owner(&path).unwrap().as_deref()),
            ("3", Some("t"))
        );
    }

    #[test]
    fn an_equal_take_leaves_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        record(&path, &take("1", "x")).unwrap();
        let before = fs::read(&path).unwrap();
        assert_eq!(record(&path, &take("2", "x")).unwrap(), Saved::Unchanged);
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn rewriting_keeps_other_takes_and_unknown_members_to_the_byte() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let body = |latest: &str, history: &str| {
            format!(
                "{{\n  \"format_version\": 1,\n  \"scenario\": \"s\",\n  \"test\": \"t\",\n  \"recorded_with\": \"vcr-runtime {}\",\n  \"latest_trace_id\": \"{latest}\",\n  \"history_keys\": [\n    {history}\n  ],\n  \"traces\": {{\n    \"a\": {{\n      \"trace_id\": \"a\",\n      \"mine\": 1.50,\n      \"é\": \"\\u0000\"\n    }}",
                env!("CARGO_PKG_VERSION")
            )
        };
        let end = "\n  },\n  \"extra\": [1e+16]\n}\n";
        fs::write(&path, format!("{}{end}", body("a", "\"a\""))).unwrap();
        record(&path, &take("b", "x")).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&body("b", "\"a\",\n    \"b\"")), "{text}");
        assert!(text.ends_with(end), "{text}");
    }

    fn a_line_a_member(document: &Json, place: Place, out: &mut String) {
        block(document, place, out, |_, part, place, out| {
            a_line_a_member(part, place, out);
        });
    }

    #[test]
    fn another_layout_is_read_and_gives_way_at_the_next_recording() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        record(&path, &take("1", "x")).unwrap();
        let ours = fs::read_to_string(&path).unwrap();
        // A line a member, as files were written before, and as editors do.
        let mut theirs = String::new();
        a_line_a_member(&parse(&ours).unwrap(), Place::default(), &mut theirs);
        fs::write(&path, &theirs).unwrap();
        assert_eq!(record(&path, &take("2", "x")).unwrap(), Saved::Unchanged);
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        assert_eq!(record(&path, &take("2", "y")).unwrap(), Saved::Written);
        let text = fs::read_to_string(&path).unwrap();
        for chunk in ["x", "y"] {
            let frame = format!("\n        {{\"delta_ms\": 0.0, \"chunk\": \"{chunk}\"}}\n");
            assert!(text.contains(&frame), "{text}");
        }
    }

    #[test]
    fn a_sweep_takes_its_own_temporary_files_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let own = [".vcr-a.json.AbCd1234.tmp", ".vcr-a.json.00000000.tmp"];
        let others = [
            "a.json",
            "a.new.json",
            ".vcr-a.json.b.json.AbCd1234.tmp",
            ".vcr-b.json.AbCd1234.tmp",
            ".vcr-a.json.AbCd123.tmp",
            ".vcr-a.json.AbCd1234.json",
        ];
        for name in own.iter().chain(&others) {
            fs::write(directory.path().join(name), "{").unwrap();
        }
        sweep(&path);
        let mut left: Vec<String> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut expected = others.map(str::to_owned);
        expected.sort();
        assert_eq!(left, expected);
    }

    #[test]
    fn a_save_that_fails_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        record(&path, &take("1", "x")).unwrap();
        let before = fs::read(&path).unwrap();
        // The last step fails: a directory stands where the file would go.
        let target = directory.path().join("a.new.json");
        fs::create_dir_all(target.join("full")).unwrap();
        let head = Head {
            scenario: "s",
            test: None,
        };
        let error = save(&path, &target, head, &take("2", "y"), &|_| None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "{error}");
    }

    #[test]
    fn nothing_is_written_over_what_cannot_be_read_or_must_not_be_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        for (old, kind) in [
            ("{\"traces\":", ErrorKind::CassetteBroken),
            (
                "{\"format_version\":\"1.9\",\"traces\":{}}",
                ErrorKind::CassetteVersion,
            ),
            ("{\"format_version\":2,\"traces\":{}}", ErrorKind::CassetteVersion),
        ] {
            fs::write(&path, old).unwrap();
            assert_eq!(record(&path, &take("1", "x")).unwrap_err().kind(), kind);
            assert_eq!(fs::read_to_string(&path).unwrap(), old);
        }
        fs::remove_file(&path).unwrap();
        let head = Head {
            scenario: "s",
            test: None,
        };
        let error = save(&path, &path, head, &take("1", "x"), &|_| {
            Some("line 3 holds a key".into())
        })
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Secret);
        assert!(error.to_string().contains("line 3 holds a key"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
