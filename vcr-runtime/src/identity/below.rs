use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// A directory that a request names: relative to `root`, or absolute, and in either case below it, links followed.
///
/// # Errors
/// `Identity` when it leads out, or climbs.
pub(crate) fn below(root: &Path, named: &str) -> Result<PathBuf> {
    let refuse = |problem: &str| {
        Error::new(
            ErrorKind::Identity,
            format!("the directory `{}` {problem}", named.escape_debug()),
            format!("name one below {}", root.display()),
        )
    };
    let named_path = Path::new(named);
    if named.is_empty() || named.chars().any(char::is_control) {
        return Err(refuse("is no directory's name"));
    }
    if named_path.components().any(|part| part == Component::ParentDir) {
        return Err(refuse("climbs"));
    }
    let path = root.join(named_path);
    if !path.starts_with(root) {
        return Err(refuse("is another place"));
    }
    // What is not there yet cannot be a link; what is there is followed.
    let there = path.ancestors().find(|part| part.symlink_metadata().is_ok());
    let real_root = match root.canonicalize() {
        Ok(root) => root,
        Err(_) => return Ok(path),
    };
    match there.map(Path::canonicalize) {
        Some(Ok(real)) if real.starts_with(&real_root) => Ok(path),
        _ => Err(refuse("is a link that leads elsewhere")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_the_root_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir(root.join("there")).unwrap();
        assert_eq!(below(root, "a/b").unwrap(), root.join("a/b"));
        assert_eq!(below(root, "there").unwrap(), root.join("there"));
        assert_eq!(below(root, "./there/x").unwrap(), root.join("there/x"));
        let absolute = root.join("abs");
        assert_eq!(below(root, absolute.to_str().unwrap()).unwrap(), absolute);
        for named in ["..", "a/../b", "../x", "/etc", "/", "", "a\0b", "a\nb"] {
            let error = below(root, named).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Identity, "{named:?}");
            assert!(error.advice().contains(root.to_str().unwrap()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_may_not_lead_out() {
        let outside = tempfile::tempdir().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("fixtures");
        // Before the root is there, nothing below it is.
        assert!(below(&root, "x").is_ok());
        std::fs::create_dir_all(root.join("real")).unwrap();
        for (name, target) in [
            ("out", outside.path()),
            ("up", directory.path()),
            ("in", &root.join("real")),
        ] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        assert!(below(&root, "in/x").is_ok());
        for name in ["out", "out/x", "up", "up/other", "dangling"] {
            assert!(below(&root, name).is_err(), "{name}");
        }
    }
}
