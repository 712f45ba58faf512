//! A name either is a file name or is refused with the corrected spelling; two scenarios never share a file by accident.

use std::collections::HashSet;
use std::path::PathBuf;

use vcr_runtime::{ErrorKind, Mode, Vcr, VcrBuilder};
use vcr_tests::rig::{Rig, done, question, refused};

fn named(rig: &Rig, scenario: &str) -> VcrBuilder {
    Vcr::builder()
        .scenario(scenario)
        .invoker("rig")
        .fixture_dir(rig.directory())
        .mode(Mode::Record)
}

/// Records one call and returns the path of the cassette.
async fn recorded(builder: VcrBuilder) -> PathBuf {
    let vcr = builder.open().unwrap();
    vcr.intercept(&question("hi"), || async { Ok::<_, std::io::Error>(1) })
        .await
        .unwrap();
    let path = vcr.cassette_path().unwrap();
    done(vcr).await;
    assert!(path.exists(), "{}", path.display());
    path
}

#[tokio::test]
async fn names_that_are_no_file_names() {
    let rig = Rig::new();
    let long = "x".repeat(300);
    for name in [
        "../../etc/x",
        "/abs",
        "a/b",
        "a\\b",
        "what is 2+2?",
        "x:y*z",
        "trailing.",
        "a\nb",
        "a\0b",
        "case.new",
        "case.Interrupted",
        "case.interrupted-2",
        &long,
    ] {
        let error = refused(named(&rig, name)).await;
        assert_eq!(error.kind(), ErrorKind::Identity, "{name:?}: {error}");
        assert!(!error.advice().is_empty(), "{name:?} without advice");
    }
    let error = named(&rig, "").open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(
        error.to_string().contains("`scenario` holds ``, which is empty"),
        "{error}"
    );
    assert_eq!(rig.files(), Vec::<String>::new());
}

#[tokio::test]
async fn the_corrected_spelling_is_accepted() {
    let rig = Rig::new();
    let error = refused(named(&rig, "a/b")).await.to_string();
    assert!(error.contains("a_b"), "{error}");
    recorded(named(&rig, "a_b")).await;
}

#[tokio::test]
async fn names_of_other_scripts_and_ordinary_ones_are_kept_apart() {
    let rig = Rig::new();
    let mut paths = HashSet::new();
    for name in ["日本語", "a_b", "a-b", "a.b", "con2", "rig", "case_1"] {
        let path = recorded(named(&rig, name)).await;
        assert_eq!(path.parent(), Some(rig.directory()), "{}", path.display());
        assert!(paths.insert(path), "two names share a file");
    }
}

#[tokio::test]
async fn other_parts_of_the_name_are_checked_too() {
    let rig = Rig::new();
    let base = || rig.builder(Mode::Record);
    for builder in [
        base().invoker("../x"),
        base().invoker("a/b"),
        base().filename("../x.json"),
        base().filename("/x"),
        base().filename("mine.new.json"),
    ] {
        assert_eq!(refused(builder).await.kind(), ErrorKind::Identity);
    }
}

#[tokio::test]
async fn the_invoker_is_flattened_and_the_filename_taken_as_it_is() {
    let rig = Rig::new();
    let path = recorded(rig.builder(Mode::Record).invoker("pkg::tests::it.case")).await;
    assert_eq!(path.file_name().unwrap(), "fixture_pkg_tests_it_case_case.json");
    for name in ["mine", "mine.json"] {
        let path = recorded(rig.builder(Mode::Record).filename(name)).await;
        assert_eq!(path.file_name().unwrap(), "mine.json");
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
        let error = refused(rig.builder(mode)).await;
        assert_eq!(error.kind(), ErrorKind::Identity, "{mode:?}: {error}");
        assert_eq!(
            std::fs::read_to_string(&target).unwrap(),
            "{}",
            "a file outside was written"
        );
    }
}
