use std::process::Output;

use tokio::process::Command;

use crate::support::Project;

/// What the command says and its code, with only these variables about the language.
async fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-vcr"));
    command.arg("vcr").args(arguments);
    for name in ["VCR_LOCALE", "LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"] {
        command.env_remove(name);
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.envs(variables.iter().copied()).output().await.unwrap();
    (
        status.code(),
        String::from_utf8([stdout, stderr].concat()).unwrap(),
    )
}

#[tokio::test]
async fn the_language_comes_from_flag_variable_and_system() {
    let project = Project::new("");
    std::fs::create_dir(project.fixture("")).unwrap();
    let fixtures = project.fixture("");
    let verify = ["verify", fixtures.to_str().unwrap()];
    let (english, german) = ("nothing is wrong", "alles in Ordnung");
    let flag = |locale| [&["--locale", locale], &verify[..]].concat();
    for (arguments, variables, said) in [
        (verify.to_vec(), &[][..], english),
        (verify.to_vec(), &[("LANG", "de_DE.UTF-8")], german),
        (
            verify.to_vec(),
            &[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C.UTF-8")],
            english,
        ),
        (
            verify.to_vec(),
            &[("LANG", "en_US.UTF-8"), ("VCR_LOCALE", "de")],
            german,
        ),
        (flag("en-GB"), &[("VCR_LOCALE", "de")], english),
        (flag("de-CH"), &[("LANG", "en_US.UTF-8")], german),
        // Nobody has translated it.
        (flag("fr"), &[("LANG", "de_DE.UTF-8")], english),
        ([&verify[..], &["--locale=de"]].concat(), &[], german),
    ] {
        let (code, text) = run(&arguments, variables).await;
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?} {variables:?}: {text}");
    }
}

#[tokio::test]
async fn faults_are_told_in_that_language() {
    let project = Project::new("");
    let missing = project.fixture("none.json");
    let missing = missing.to_str().unwrap();
    let german = [("LC_MESSAGES", "de_AT")];
    let (code, text) = run(&["verify", missing], &german).await;
    assert_eq!(code, Some(1));
    assert!(
        text.starts_with("cargo vcr verify: Die Kassette gibt es nicht"),
        "{text}"
    );
    assert!(text.contains(missing), "{text}");
    let (code, text) = run(&["recover", missing], &german).await;
    assert!(code == Some(1) && text.contains("Im Wortlaut"), "{text}");
    for (arguments, said) in [
        (&["verify", "--nonsense"][..], "unbekanntes Argument „--nonsense“"),
        (&["serve", "--vcr", "sometimes"], "ungültiger Wert „sometimes“"),
        (&["serve", "--log", "loud"], "Möglich sind: off, error"),
        (&["serve", "--idle", "soon"], "Grund: "),
        (&["freeze"], "es fehlt <CASSETTE>"),
        (&["rewind"], "unbekannter Befehl „rewind“"),
    ] {
        let (code, text) = run(arguments, &german).await;
        assert_eq!(code, Some(2), "{text}");
        assert!(text.starts_with("Fehler: ") && text.contains(said), "{text}");
    }
    let (code, text) = run(&["--help"], &german).await;
    assert!(code == Some(0) && text.contains("Befehle"), "{text}");
    let (code, text) = run(&["--locale", "german", "verify", missing], &german).await;
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--locale ist \"german\""), "{text}");
    let (code, text) = run(&["verify", missing], &[("VCR_LOCALE", "../de")]).await;
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("VCR_LOCALE is \"../de\""), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_daemon_reports_in_that_language() {
    use crate::support::chat;
    use serde_json::json;
    use vcr_tests::{Reply, Upstream};

    let upstream = Upstream::start([Reply::text("Hi")]);
    let project = Project::new("");
    let daemon = project
        .serve(&["--upstream", &upstream.v1(), "--locale", "de"])
        .await;
    let body = chat("Hi", false, &json!({"vcr": "record", "vcr_filename": "l"}));
    daemon.post("/v1/chat/completions", &body).await.text().await;
    let (status, said) = daemon.stop().await;
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(
        said.contains("l.json: 1 Aufruf aufgenommen, geschrieben: "),
        "{said}"
    );
}
