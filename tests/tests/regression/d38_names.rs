//! A name either is a file name or is refused with the corrected spelling; two scenarios never share a file by accident.

use std::collections::HashSet;

use vcr_runtime::{Error, ErrorKind, Mode, Vcr};
use vcr_tests::rig::{Rig, done};

fn open(rig: &Rig, scenario: &str) -> Result<Vcr, Error> {
    Vcr::builder().scenario(scenario).invoker("rig").fixture_dir(rig.directory()).mode(Mode::Record).open()
}

#[tokio::test]
async fn names_that_are_no_file_names() {
    let rig = Rig::new();
    let long = "x".repeat(300);
    for name in ["../../etc/x", "/abs", "a/b", "a\\b", "what is 2+2?", "x:y*z", "trailing.", "", "a\nb", "a\0b", &long] {
        let error = match open(&rig, name) {
            Ok(_) => panic!("{name:?} was accepted"),
            Err(error) => error,
        };
        assert_eq!(error.kind(), ErrorKind::Identity, "{name:?}: {error}");
        assert!(!error.advice().is_empty(), "{name:?} without advice");
    }
    assert_eq!(rig.files(), Vec::<String>::new());
}

#[tokio::test]
async fn the_corrected_spelling_is_accepted() {
    let rig = Rig::new();
    let error = open(&rig, "a/b").unwrap_err().to_string();
    assert!(error.contains("a_b"), "{error}");
    done(open(&rig, "a_b").unwrap()).await;
}

#[tokio::test]
async fn names_of_other_scripts_and_ordinary_ones_are_kept_apart() {
    let rig = Rig::new();
    let mut paths = HashSet::new();
    for name in ["日本語", "a_b", "a-b", "a.b", "CON", "con2", "rig", "case_1"] {
        let Ok(vcr) = open(&rig, name) else {
            assert_eq!(name, "CON", "{name} was refused");
            continue;
        };
        let path = vcr.cassette_path().to_owned();
        assert!(path.starts_with(rig.directory()), "{}", path.display());
        assert_eq!(path.parent(), Some(rig.directory()), "{}", path.display());
        assert!(paths.insert(path), "two names share a file");
        done(vcr).await;
    }
}

#[tokio::test]
async fn other_parts_of_the_name_are_checked_too() {
    let rig = Rig::new();
    let base = || rig.builder(Mode::Record);
    for builder in [base().invoker("../x"), base().invoker("a/b"), base().filename("../x.json"), base().filename("/x")] {
        assert_eq!(builder.open().unwrap_err().kind(), ErrorKind::Identity);
    }
}

#[tokio::test]
async fn the_invoker_is_flattened_and_the_filename_taken_as_it_is() {
    let rig = Rig::new();
    let vcr = rig.builder(Mode::Record).invoker("pkg::tests::it.case").open().unwrap();
    assert_eq!(vcr.cassette_path().file_name().unwrap(), "fixture_pkg_tests_it_case_case.json");
    done(vcr).await;
    for name in ["mine", "mine.json"] {
        let vcr = rig.builder(Mode::Record).filename(name).open().unwrap();
        assert_eq!(vcr.cassette_path().file_name().unwrap(), "mine.json");
        done(vcr).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_the_directory_is_refused() {
    let (rig, outside) = (Rig::new(), Rig::new());
    let target = outside.directory().join("elsewhere.json");
    std::fs::write(&target, "{}").unwrap();
    std::os::unix::fs::symlink(&target, rig.path()).unwrap();
    for mode in [Mode::Record, Mode::Replay] {
        let opened = rig.builder(mode).open();
        if let Ok(vcr) = opened {
            let _ = vcr.finish().await;
            assert_eq!(mode, Mode::Record, "a file outside was read");
        }
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "{}", "a file outside was written");
    }
}

#[tokio::test]
async fn two_sessions_on_one_file_at_once_are_refused() {
    let rig = Rig::new();
    let first = rig.record();
    let error = rig.builder(Mode::Record).open().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Collision | ErrorKind::Busy), "{error}");
    assert!(error.to_string().contains("fixture_rig_case.json"), "{error}");
    done(first).await;
}
