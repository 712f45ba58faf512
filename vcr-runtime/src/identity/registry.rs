use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// Which test uses which cassette. Tests that run in processes of their own are kept apart by the lock file and by
/// the test's path in the cassette.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    owners: Mutex<BTreeMap<(PathBuf, OsString), String>>,
}

impl Registry {
    /// The one of this process.
    pub(crate) fn process() -> &'static Self {
        static PROCESS: Registry = Registry {
            owners: Mutex::new(BTreeMap::new()),
        };
        &PROCESS
    }

    /// Notes that `test` uses the cassette `path`, for the rest of the process. A test may come again, as it does when
    /// it is retried; another one may not, even later, because it would replay what is not its own.
    pub(crate) fn claim(&self, path: &Path, test: &str) -> Result<()> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owners.entry(key(path)).or_insert_with(|| test.to_owned());
        if owner == test {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Collision,
            format!("the tests `{owner}` and `{test}` would share the cassette {}", path.display()),
            "give one of them another `scenario`; under rstest use `scenario`, which gets the case's name, and not `filename`, and give `#[values]` that read alike a doc comment each as their name",
        )
        .at(path))
    }
}

/// One key for one file: links in the directory followed, and upper and lower case equal, as they are on some systems.
fn key(path: &Path) -> (PathBuf, OsString) {
    let directory = path.parent().unwrap_or(Path::new(""));
    let directory = directory
        .canonicalize()
        .or_else(|_| std::path::absolute(directory))
        .unwrap_or_else(|_| directory.to_owned());
    let name = path.file_name().unwrap_or_default();
    let name = name
        .to_str()
        .map_or_else(|| name.to_owned(), |name| name.to_lowercase().into());
    (directory, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tests_on_one_file_are_refused_and_both_named() {
        let registry = Registry::default();
        registry.claim("/f/a.json".as_ref(), "p::one").unwrap();
        registry.claim("/f/b.json".as_ref(), "p::two").unwrap();
        registry.claim("/f/a.json".as_ref(), "p::one").unwrap();
        let error = registry.claim("/f/A.json".as_ref(), "p::two").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Collision);
        assert_eq!(
            error.message(),
            "the tests `p::one` and `p::two` would share the cassette /f/A.json"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_linked_directory_is_the_same_directory() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("real")).unwrap();
        std::os::unix::fs::symlink(root.path().join("real"), root.path().join("link")).unwrap();
        let registry = Registry::default();
        registry.claim(&root.path().join("real/a.json"), "one").unwrap();
        assert!(registry.claim(&root.path().join("link/a.json"), "two").is_err());
    }
}
