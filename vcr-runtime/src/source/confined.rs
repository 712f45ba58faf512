//! Reading a file that must lie in a directory, links included, and stay what it is while it is read.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    Unreadable(Unreadable),
    /// It has more bytes than the ceiling.
    TooLarge,
}

/// Why a file cannot be read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    BadPath,
    Missing,
    NotAFile,
    Escapes,
    TooManyLinks,
    Refused,
    Changed,
    NotUtf8,
}

impl Unreadable {
    pub(super) const fn says(self) -> &'static str {
        match self {
            Self::BadPath => "its path is not a relative path of plain names, at most 1024 bytes long",
            Self::Missing => "there is no such file",
            Self::NotAFile => "it is no regular file",
            Self::Escapes => "a link leads out of the fixture directory",
            Self::TooManyLinks => "more than 16 links lead to it",
            Self::Refused => "the system refuses to read it",
            Self::Changed => "it was changed while it was read",
            Self::NotUtf8 => "it is not UTF-8",
        }
    }
}

const MAX_PATH: usize = 1024;
const MAX_LINKS: usize = 16;

/// Reads `relative` below `directory`, at most `ceiling` bytes.
pub(super) fn read(directory: &Path, relative: &str, ceiling: usize) -> Result<Vec<u8>, Unfit> {
    read_while(directory, relative, ceiling, || {})
}

/// The same; `meanwhile` runs after the last byte was read and before the file is looked at again.
fn read_while(
    directory: &Path,
    relative: &str,
    ceiling: usize,
    meanwhile: impl FnOnce(),
) -> Result<Vec<u8>, Unfit> {
    let root = directory.canonicalize().map_err(|error| refused(&error))?;
    let path = resolve(&root, relative)?;
    let before = fs::symlink_metadata(&path).map_err(|error| refused(&error))?;
    // Asked before it is opened: opening a pipe waits for its other end.
    if !before.is_file() {
        return Err(Unfit::Unreadable(Unreadable::NotAFile));
    }
    if before.len() > ceiling as u64 {
        return Err(Unfit::TooLarge);
    }
    let file = File::open(&path).map_err(|error| refused(&error))?;
    let opened = file.metadata().map_err(|error| refused(&error))?;
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0) + 1);
    (&file)
        .take(ceiling as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refused(&error))?;
    meanwhile();
    let again = resolve(&root, relative).and_then(|path| {
        let after = fs::symlink_metadata(&path).map_err(|error| refused(&error))?;
        Ok((path, identity(&after)))
    });
    let still = file.metadata().map(|metadata| identity(&metadata));
    let same = again.is_ok_and(|(again, after)| again == path && after == identity(&before))
        && identity(&opened) == identity(&before)
        && still.is_ok_and(|still| still == identity(&before))
        && bytes.len() as u64 == before.len();
    if !same {
        return Err(Unfit::Unreadable(Unreadable::Changed));
    }
    Ok(bytes)
}

fn refused(error: &io::Error) -> Unfit {
    Unfit::Unreadable(match error.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Refused,
    })
}

/// The file that a path leads to, every link on the way followed by hand so that none leads out.
fn resolve(root: &Path, relative: &str) -> Result<PathBuf, Unfit> {
    let bad = Unfit::Unreadable(Unreadable::BadPath);
    let plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
    if relative.len() > MAX_PATH || !relative.split('/').all(plain) {
        return Err(bad);
    }
    let mut ahead: VecDeque<OsString> = VecDeque::new();
    for part in Path::new(relative).components() {
        match part {
            Component::Normal(name) => ahead.push_back(name.to_owned()),
            _ => return Err(bad),
        }
    }
    let mut at = root.to_owned();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            if !at.starts_with(root) {
                return Err(Unfit::Unreadable(Unreadable::Escapes));
            }
            continue;
        }
        let next = at.join(&name);
        let metadata = fs::symlink_metadata(&next).map_err(|error| refused(&error))?;
        if !metadata.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Unfit::Unreadable(Unreadable::TooManyLinks));
        }
        let target = fs::read_link(&next).map_err(|error| refused(&error))?;
        let target = if target.is_absolute() {
            at = root.to_owned();
            let inside = target.strip_prefix(root).map(Path::to_owned);
            inside.map_err(|_| Unfit::Unreadable(Unreadable::Escapes))?
        } else {
            target
        };
        for part in target.components().rev() {
            match part {
                Component::Normal(name) => ahead.push_front(name.to_owned()),
                Component::ParentDir => ahead.push_front("..".into()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => {
                    return Err(Unfit::Unreadable(Unreadable::Escapes));
                }
            }
        }
    }
    Ok(at)
}

/// What tells one state of one file from another.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> impl PartialEq + use<> {
    use std::os::unix::fs::MetadataExt as _;
    (
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    )
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> impl PartialEq + use<> {
    (metadata.len(), metadata.modified().ok(), metadata.created().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(result: Result<Vec<u8>, Unfit>) -> Unreadable {
        match result {
            Err(Unfit::Unreadable(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_plain_relative_paths_are_read() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("sub")).unwrap();
        fs::write(root.path().join("sub/a"), "x").unwrap();
        let read = |path: &str| read(root.path(), path, 10);
        assert_eq!(read("sub/a").unwrap(), b"x");
        let long = "x/".repeat(512) + "x";
        for bad in [
            "",
            "/sub/a",
            "./sub/a",
            "sub//a",
            "sub/../sub/a",
            "..",
            "sub/a\0",
            "sub/a/",
            &long,
        ] {
            assert_eq!(why(read(bad)), Unreadable::BadPath, "{bad:?}");
        }
        assert_eq!(why(read("sub/b")), Unreadable::Missing);
        assert_eq!(why(read("sub")), Unreadable::NotAFile);
        assert_eq!(
            why(super::read(&root.path().join("none"), "a", 10)),
            Unreadable::Missing
        );
    }

    #[test]
    fn the_ceiling_is_reached_and_not_passed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "12345").unwrap();
        assert_eq!(read(root.path(), "a", 5).unwrap().len(), 5);
        assert_eq!(read(root.path(), "a", 4), Err(Unfit::TooLarge));
        // Neither time nor memory depends on how large it is: the hole is not read.
        let hole = File::create(root.path().join("hole")).unwrap();
        hole.set_len(1 << 30).unwrap();
        assert_eq!(read(root.path(), "hole", 8_000_000), Err(Unfit::TooLarge));
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_inside() {
        use std::os::unix::fs::symlink;
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("sub/a"), "x").unwrap();
        fs::write(outer.path().join("out"), "secret").unwrap();
        symlink("sub", root.join("dir")).unwrap();
        symlink("../sub/a", root.join("sub/up")).unwrap();
        symlink(root.join("sub/a"), root.join("absolute")).unwrap();
        symlink("../out", root.join("escape")).unwrap();
        symlink("../root/sub/a", root.join("out_and_in")).unwrap();
        symlink(outer.path().join("out"), root.join("far")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("nothing", root.join("dangling")).unwrap();
        for good in ["dir/a", "sub/up", "absolute", "dir/up"] {
            assert_eq!(read(&root, good, 10).unwrap(), b"x", "{good}");
        }
        for (path, expected) in [
            ("escape", Unreadable::Escapes),
            ("out_and_in", Unreadable::Escapes),
            ("far", Unreadable::Escapes),
            ("loop", Unreadable::TooManyLinks),
            ("dangling", Unreadable::Missing),
        ] {
            assert_eq!(why(read(&root, path, 10)), expected, "{path}");
        }
        let mut last = "sub/a".to_owned();
        for number in 0..17 {
            symlink(&last, root.join(format!("chain{number}"))).unwrap();
            last = format!("chain{number}");
        }
        assert!(read(&root, "chain15", 10).is_ok());
        assert_eq!(why(read(&root, "chain16", 10)), Unreadable::TooManyLinks);
    }

    #[test]
    fn a_change_while_reading_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        let other = root.path().join("b");
        let change = |change: &dyn Fn()| {
            fs::write(&path, "old").unwrap();
            fs::write(&other, "new").unwrap();
            why(read_while(root.path(), "a", 10, change))
        };
        assert_eq!(
            change(&|| fs::rename(&other, &path).unwrap()),
            Unreadable::Changed
        );
        assert_eq!(
            change(&|| fs::write(&path, "longer").unwrap()),
            Unreadable::Changed
        );
        assert_eq!(change(&|| fs::remove_file(&path).unwrap()), Unreadable::Changed);
        assert!(read_while(root.path(), "b", 10, || {}).is_ok());
    }
}
