//! A save that is killed half-way, or for which there is no room: the old file or the new one, never half of it, and no call
//! that was paid for is lost.
//!
//! A limit on the size of files does both, and at a known byte: past it the system kills the writer (`SIGXFSZ`), or, where the
//! writer ignores the signal, refuses the write.
#![cfg(unix)]

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use vcr_runtime::{ErrorKind, Mode, Vcr};
use vcr_tests::rig::{InProcess, Rig, Say, ask, done, question};
use vcr_tests::{Reply, Upstream, project};

/// What a child process is to do.
const CASE: &str = "TESTS_SAVE_CASE";
const FRONTS: [&str; 3] = ["gateway", "completion", "intercept"];
/// The unit of `ulimit -f`.
const BLOCK: usize = 512;

/// What happens at the limit.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// The writer is killed.
    Kill,
    /// The write is refused.
    Refuse,
}

/// Records calls with answers of these sizes in a process of its own that may write files of so many blocks.
fn record_within(rig: &Rig, front: &str, sizes: &[usize], then: &str, blocks: usize, at: At) -> Output {
    let trap = if at == At::Refuse { "trap '' XFSZ; " } else { "" };
    let script = format!("{trap}ulimit -c 0; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    command.arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "d37_interrupted_save::one_recording",
        "--ignored",
        "--nocapture",
    ]);
    project::clean(&mut command);
    let case = json!({"directory": rig.directory(), "front": front, "sizes": sizes, "then": then});
    command.env(CASE, case.to_string()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A text of that size that no redaction and no compression would touch.
fn text(size: usize) -> String {
    "one more word and ".chars().cycle().take(size).collect()
}

/// Asks and returns the text of the answer, which is recorded or replayed.
async fn answer(vcr: &Vcr, front: &str, prompt: &str, size: usize) -> String {
    match front {
        "gateway" => {
            let reply = if prompt.starts_with("refused") {
                Reply::json(&json!({"error": {"message": text(size)}})).status(503)
            } else {
                Reply::text(&text(size))
            };
            let upstream = Upstream::start([reply]);
            let prompt = prompt.trim_start_matches("refused ");
            ask(vcr, &upstream.v1(), &question(prompt)).await.text()
        }
        "completion" => {
            let script = vec![Say::Text(text(size).leak()), Say::Finish("stop")];
            InProcess::new(vcr, [script]).stream(prompt).await.text()
        }
        _ => vcr
            .intercept(&question(prompt), || async {
                Ok::<_, std::io::Error>(text(size))
            })
            .await
            .unwrap(),
    }
}

async fn record_all(vcr: &Vcr, front: &str, sizes: &[usize]) {
    for (number, size) in sizes.iter().enumerate() {
        assert_eq!(
            answer(vcr, front, &format!("prompt {number}"), *size).await,
            text(*size)
        );
    }
}

#[tokio::test]
#[ignore = "run by the others in a process of its own"]
async fn one_recording() {
    let Ok(case) = std::env::var(CASE) else {
        println!("skipped: not in a process of its own");
        return;
    };
    let case: Value = serde_json::from_str(&case).unwrap();
    let word = |name: &str| case[name].as_str().unwrap();
    let sizes: Vec<usize> = serde_json::from_value(case["sizes"].clone()).unwrap();
    let vcr = Vcr::builder()
        .scenario("case")
        .invoker("rig")
        .fixture_dir(word("directory"))
        .mode(Mode::Record)
        .keep_transient(false)
        .open()
        .unwrap();
    if word("then") == "retry" {
        answer(&vcr, word("front"), "refused prompt 0", sizes[0]).await;
        answer(&vcr, word("front"), "prompt 0", sizes[1]).await;
    } else {
        record_all(&vcr, word("front"), &sizes).await;
    }
    println!("all calls have ended");
    if word("then") == "abort" {
        std::process::abort();
    }
    match vcr.finish().await {
        Ok(report) => println!("saved; notes: {:?}", report.notes),
        Err(error) => println!("{:?}: {error}", error.kind()),
    }
}

/// A rig whose cassette has one long call, and the cassette's bytes.
async fn with_old_cassette(front: &str) -> (Rig, Vec<u8>) {
    let rig = Rig::new();
    let vcr = rig.record();
    record_all(&vcr, front, &[60_000]).await;
    done(vcr).await;
    let bytes = std::fs::read(rig.path()).unwrap();
    (rig, bytes)
}

/// What must hold after a save that came to nothing: the old cassette replays, the next recording finds `calls` calls and
/// leaves no trace of the one before.
async fn recovers(rig: &Rig, front: &str, old: &[u8], calls: usize) {
    assert_eq!(
        std::fs::read(rig.path()).unwrap(),
        old,
        "the old cassette changed"
    );
    let differences = vcr_runtime::verify(rig.directory()).unwrap();
    assert!(differences.is_empty(), "{differences:?}");
    let vcr = rig.replay();
    record_all(&vcr, front, &[60_000]).await;
    done(vcr).await;
    records_anew(rig, front, calls).await;
    assert_eq!(rig.cassette().takes(), 2);
}

async fn records_anew(rig: &Rig, front: &str, calls: usize) {
    let vcr = rig.record();
    record_all(&vcr, front, &[40]).await;
    let report = vcr.finish().await.unwrap();
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains(&format!("left {calls} finished call"))),
        "{report:?}"
    );
    assert_eq!(
        rig.files(),
        ["fixture_rig_case.interrupted.json", "fixture_rig_case.json"]
    );
    let aside = vcr_tests::rig::Cassette::read(&rig.path().with_extension("interrupted.json"));
    assert_eq!(aside.calls().len(), calls);
}

fn temporary(rig: &Rig) -> Vec<String> {
    let files = rig.files().into_iter();
    files
        .filter(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|extension| extension == "tmp")
        })
        .collect()
}

#[tokio::test]
async fn killed_in_the_middle_of_the_save() {
    for front in FRONTS {
        let (rig, old) = with_old_cassette(front).await;
        let blocks = 64;
        assert!(old.len() > 2 * blocks * BLOCK - 10_000);
        let output = record_within(&rig, front, &[30, 50], "finish", blocks, At::Kill);
        assert!(output.status.signal().is_some(), "{output:?}");
        assert!(stdout(&output).contains("all calls have ended"), "{output:?}");
        // It was killed with half of the file written.
        let left = temporary(&rig);
        assert_eq!(left.len(), 1, "{:?}", rig.files());
        let half = std::fs::metadata(rig.directory().join(&left[0])).unwrap().len();
        assert_eq!(half, (blocks * BLOCK) as u64);
        recovers(&rig, front, &old, 2).await;
    }
}

#[tokio::test]
async fn no_room_for_the_save() {
    for front in FRONTS {
        let (rig, old) = with_old_cassette(front).await;
        let output = record_within(&rig, front, &[30, 50], "finish", 64, At::Refuse);
        assert!(output.status.success(), "{output:?}");
        let told = stdout(&output);
        for part in [
            "Io: failed to write",
            "fixture_rig_case.json",
            "raise the limit",
            "the calls of this one stay in",
            "fixture_rig_case.journal.jsonl",
        ] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
        assert_eq!(temporary(&rig), [""; 0]);
        recovers(&rig, front, &old, 2).await;
    }
}

#[tokio::test]
async fn killed_in_the_middle_of_a_journal_entry() {
    for front in FRONTS {
        let rig = Rig::new();
        let blocks = 16;
        let output = record_within(&rig, front, &[30, 20_000], "finish", blocks, At::Kill);
        assert!(output.status.signal().is_some(), "{output:?}");
        assert!(!stdout(&output).contains("all calls have ended"), "{output:?}");
        assert_eq!(rig.files(), ["fixture_rig_case.journal.jsonl"]);
        let journal = std::fs::read(rig.path().with_extension("journal.jsonl")).unwrap();
        assert_eq!(journal.len(), blocks * BLOCK);
        assert!(!journal.ends_with(b"\n"), "the last entry is whole");
        records_anew(&rig, front, 1).await;
    }
}

#[tokio::test]
async fn no_room_for_a_journal_entry() {
    for front in FRONTS {
        let rig = Rig::new();
        // Recording goes on, and what comes later is in the journal again.
        let output = record_within(&rig, front, &[30, 20_000, 50], "abort", 16, At::Refuse);
        assert!(stdout(&output).contains("all calls have ended"), "{output:?}");
        records_anew(&rig, front, 2).await;
    }
}

#[tokio::test]
async fn a_journal_without_room_is_reported_and_the_recording_is_saved() {
    let rig = Rig::new();
    // The refusal does not fit, and is no part of the take, which does.
    let output = record_within(&rig, "gateway", &[20_000, 30], "retry", 16, At::Refuse);
    let told = stdout(&output);
    assert!(output.status.success() && told.contains("saved; "), "{output:?}");
    for part in [
        "an interruption would have lost calls",
        "journal.jsonl",
        "1 refused call left out",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    assert_eq!(rig.files(), ["fixture_rig_case.json"]);
    assert_eq!(rig.cassette().calls().len(), 1);
}

/// The same with a file system that really is full, where a process may mount one of its own.
#[test]
fn a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=1m vcr \"$0\"";
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", script]).arg(directory.path());
        project::clean(&mut command);
        command
    };
    if !run(mount).output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this process may not mount a file system of its own");
        return;
    }
    let output = run(&format!("{mount} && exec \"$@\""))
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "d37_interrupted_save::on_a_small_disk",
            "--ignored",
            "--nocapture",
        ])
        .env(CASE, directory.path())
        .output()
        .unwrap();
    assert!(
        output.status.success() && stdout(&output).contains("the disk was full"),
        "{}{}",
        stdout(&output),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Fills the disk but for `room` bytes.
fn fill_up(directory: &Path, room: u64) -> PathBuf {
    let path = directory.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length - room).unwrap();
    path
}

#[tokio::test]
#[ignore = "run by `a_full_disk` in a process of its own"]
async fn on_a_small_disk() {
    let Some(directory) = std::env::var_os(CASE) else {
        println!("skipped: not in a process of its own");
        return;
    };
    for front in FRONTS {
        let session = || {
            Vcr::builder()
                .scenario(front)
                .invoker("rig")
                .fixture_dir(&directory)
                .mode(Mode::Record)
                .open()
                .unwrap()
        };
        let vcr = session();
        record_all(&vcr, front, &[300]).await;
        let path = vcr.cassette_path().unwrap();
        done(vcr).await;
        let old = std::fs::read(&path).unwrap();

        let filler = fill_up(Path::new(&directory), 40 << 10);
        let vcr = session();
        record_all(&vcr, front, &[30, 80_000]).await;
        let error = vcr.finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.advice().starts_with("free some space there"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), old, "the old cassette changed");

        std::fs::remove_file(filler).unwrap();
        let vcr = session();
        record_all(&vcr, front, &[40]).await;
        let report = vcr.finish().await.unwrap();
        assert!(
            report.notes.iter().any(|note| note.contains("finished call")),
            "{report:?}"
        );
        let hidden = std::fs::read_dir(&directory).unwrap();
        let names: Vec<_> = hidden.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")),
            "{names:?}"
        );
        for name in names {
            std::fs::remove_file(Path::new(&directory).join(name)).unwrap();
        }
    }
    println!("the disk was full");
}
