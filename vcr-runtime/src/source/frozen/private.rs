//! Where the details of a miss go in a private run: a file that only its owner can read.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::entry::Key;
use super::neutral;
use crate::json::{Json, Object, compact};

/// A program that loops over a miss must not fill the disk.
const MOST: usize = 64;

/// The requests that one run has written down.
#[derive(Debug, Default)]
pub(super) struct PrivateRecord {
    told: HashSet<Key>,
}

/// `answers.jsonl.private` for `answers.jsonl`.
pub(super) fn path_of(fixtures: &Path) -> PathBuf {
    let mut name = fixtures.as_os_str().to_owned();
    name.push(".private");
    name.into()
}

impl PrivateRecord {
    /// Writes a request down, once for each hash.
    pub(super) fn add(
        &mut self,
        path: &Path,
        key: &Key,
        why: &str,
        test: &str,
        request: Json,
    ) -> io::Result<()> {
        if self.told.contains(key) || self.told.len() >= MOST {
            return Ok(());
        }
        let mut members = Object::new();
        members.push("request_hash", neutral::text(key));
        members.push("reason", why);
        members.push("test", test);
        members.push("request", request);
        append(path, &(compact(&members.into()) + "\n"))?;
        self.told.insert(*key);
        Ok(())
    }
}

/// One write a line, so that the lines of two tests do not mix.
#[cfg(unix)]
fn append(path: &Path, line: &str) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    // Never through a link, which could lead anywhere.
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    let opened = file.metadata()?;
    if opened.nlink() > 1 {
        return Err(io::Error::other("it has another name"));
    }
    if opened.permissions().mode() & 0o077 != 0 {
        // It was there before, for others to read.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    file.write_all(line.as_bytes())
}

#[cfg(not(unix))]
fn append(_: &Path, _: &str) -> io::Result<()> {
    Err(io::Error::other(
        "this system has no files for one owner alone that this crate could make",
    ))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_the_owner_can_read_it() {
        let root = tempfile::tempdir().unwrap();
        let path = path_of(&root.path().join("a.jsonl"));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let mut record = PrivateRecord::default();
        for key in [[1; 32], [1; 32], [2; 32]] {
            record
                .add(&path, &key, "unknown", "t", Json::from("secret"))
                .unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with("{\"request_hash\":\"sha256:0101"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn it_follows_no_link_and_has_an_end() {
        let root = tempfile::tempdir().unwrap();
        let (target, link) = (root.path().join("target"), root.path().join("link"));
        fs::write(&target, "").unwrap();
        symlink(&target, &link).unwrap();
        let mut record = PrivateRecord::default();
        record
            .add(&link, &[0; 32], "unknown", "t", Json::Null)
            .unwrap_err();
        let hard = root.path().join("hard");
        fs::hard_link(&target, &hard).unwrap();
        record
            .add(&hard, &[0; 32], "unknown", "t", Json::Null)
            .unwrap_err();
        assert_eq!(fs::read_to_string(&target).unwrap(), "");
        let path = root.path().join("many");
        for number in 0..100 {
            record
                .add(&path, &[number; 32], "unknown", "t", Json::Null)
                .unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), MOST);
    }
}
