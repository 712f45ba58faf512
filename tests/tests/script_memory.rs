//! A log that nobody can have recorded takes no more memory than its file has, and far less where the file is huge.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use peak_alloc::PeakAlloc;
use vcr_runtime::{Error, Failure, Mode, Reply, Request, Vcr};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

async fn went_live(_: Request) -> Result<Reply, Failure> {
    Err(Failure::new("Live", "the call went live"))
}

/// Why a test with that log fails, and the most memory that it took, in bytes.
async fn refused(directory: &Path) -> (Error, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let builder = Vcr::builder().scenario("s").fixture_dir(directory);
    let vcr = builder
        .mode(Mode::Replay)
        .source("session:p.jsonl")
        .open()
        .unwrap();
    vcr.client(went_live)
        .completion(Request::new("m").user("x"))
        .await
        .unwrap_err();
    let error = vcr.finish().await.unwrap_err();
    (error, MEMORY.peak_usage() - before)
}

/// One test, because the memory is that of the whole process.
#[tokio::test]
async fn what_is_refused_takes_little() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("p.jsonl");
    // What every session needs is there before it is measured.
    std::fs::write(&path, "").unwrap();
    refused(root.path()).await;

    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    let (error, peak) = refused(root.path()).await;
    assert!(
        error.message().ends_with("it is larger than 64000000 bytes"),
        "{error}"
    );
    assert!(peak < 1 << 20, "a gigabyte took {peak} bytes");

    let header = "{\"type\":\"session\",\"version\":0}\n{\"type\":\"x\",\"data\":[";
    for (rest, says) in [
        (
            "[".repeat(20 << 20),
            "line 2 is no JSON document: the document is nested too deeply (column 83)",
        ),
        (
            "1,".repeat(10 << 20),
            "line 2 is no JSON document: the document has too many values",
        ),
        (
            format!("\"{}", "x".repeat(20 << 20)),
            "line 2 is no JSON document: ",
        ),
    ] {
        let text = header.to_owned() + &rest;
        let size = text.len();
        std::fs::write(&path, &text).unwrap();
        drop((text, rest));
        let (error, peak) = refused(root.path()).await;
        assert!(error.message().contains(says), "{error}");
        assert!(error.message().len() < 1000, "{}", error.message().len());
        assert!(peak < size + (4 << 20), "{size} bytes took {peak}");
    }
}
