//! Calls from tasks, threads and other runtimes belong to the session that they hold, and to no other.

use std::time::Duration;

use serde_json::json;
use vcr_runtime::{ErrorKind, InCassette, Mode, Protocol, Vcr, vcr_test};
use vcr_tests::Reply;
use vcr_tests::rig::{Rig, chat, complaint, direct, done, question};

async fn ask(vcr: &Vcr, number: u32) -> Result<u32, String> {
    let request = json!({"number": number});
    let answer = vcr.intercept(&request, || async move { Ok::<_, std::io::Error>(number * 10) });
    answer.await.map_err(|error| error.to_string())
}

async fn ask_ambient(number: u32) -> Result<u32, String> {
    let request = json!({"number": number});
    let answer = vcr_runtime::intercept(&request, || async move { Ok::<_, std::io::Error>(number * 10) });
    answer.await.map_err(|error| error.to_string())
}

#[vcr_test(mode = live)]
async fn the_session_is_found_where_code_forks(vcr: Vcr) {
    let own = vcr.cassette_path();
    assert!(own.is_some());
    let path = || Vcr::current().map(|vcr| vcr.cassette_path());
    assert_eq!(path().unwrap(), own);
    assert_eq!(tokio::spawn(async move { path() }).await.unwrap().unwrap(), own);
    assert_eq!(tokio::task::spawn_blocking(path).await.unwrap().unwrap(), own);
    let nested = tokio::task::spawn_blocking(move || {
        tokio::runtime::Handle::current()
            .block_on(async move { tokio::spawn(async move { path() }).await.unwrap() })
    });
    assert_eq!(nested.await.unwrap().unwrap(), own);
    let mut set = tokio::task::JoinSet::new();
    set.spawn(async move { path() });
    assert_eq!(set.join_next().await.unwrap().unwrap().unwrap(), own);
}

#[vcr_test(mode = live)]
async fn foreign_threads_and_runtimes_fail_closed_and_can_be_let_in(vcr: Vcr) {
    let error = std::thread::spawn(|| Vcr::current().unwrap_err()).join().unwrap();
    assert_eq!(error.kind(), ErrorKind::NoSession);
    assert!(error.to_string().contains("in_cassette"), "{error}");

    let handle = vcr.clone();
    let inside = std::thread::spawn(move || handle.sync_scope(|| Vcr::current().is_ok()))
        .join()
        .unwrap();
    assert!(inside);

    let inside = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(async { Vcr::current().is_err() }));
        runtime.block_on(async { Vcr::current().is_ok() }.in_cassette(&vcr))
    });
    assert!(inside.join().unwrap());
}

#[tokio::test]
async fn a_call_without_a_session_is_refused_and_not_made() {
    // In a process whose tests use sessions; where none does, the code runs as it would without this library.
    drop(Rig::new().record());
    let request = json!({"q": 1});
    let error = vcr_runtime::intercept(&request, || async {
        panic!("a call without a session went live");
        #[allow(unreachable_code)]
        Ok::<u32, std::io::Error>(1)
    });
    let text = error.await.unwrap_err().to_string();
    assert!(text.contains("outside every vcr session"), "{text}");
    assert!(text.contains("vcr_test"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_in_tasks_and_threads_use_their_own_session() {
    let rig = Rig::new();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let handle = vcr.clone();
        assert_eq!(
            tokio::spawn(async move { ask(&handle, 1).await }).await.unwrap(),
            Ok(10),
            "{mode:?}"
        );
        let (handle, runtime) = (vcr.clone(), tokio::runtime::Handle::current());
        let thread = std::thread::spawn(move || runtime.block_on(ask(&handle, 2)));
        let answer = tokio::task::spawn_blocking(move || thread.join().unwrap())
            .await
            .unwrap();
        assert_eq!(answer, Ok(20), "{mode:?}");
        let (handle, runtime) = (vcr.clone(), tokio::runtime::Handle::current());
        let task = tokio::task::spawn_blocking(move || runtime.block_on(ask(&handle, 3)));
        assert_eq!(task.await.unwrap(), Ok(30), "{mode:?}");
        assert_eq!(
            vcr.scope(async { ask_ambient(4).await }).await,
            Ok(40),
            "{mode:?}"
        );
        done(vcr).await;
    }
}

#[tokio::test]
async fn the_gateway_needs_no_context_at_all() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.replay();
    let base = vcr.base_url(Protocol::OpenAi).unwrap();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async { direct(&base, &question("hi")).await.text() })
    });
    assert_eq!(
        tokio::task::spawn_blocking(move || thread.join().unwrap())
            .await
            .unwrap(),
        "ok"
    );
    done(vcr).await;
}

#[tokio::test]
async fn a_late_call_is_reported_against_its_own_session() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.replay();
    let late = vcr.clone();
    let base = vcr.base_url(Protocol::OpenAi).unwrap();
    assert_eq!(chat(&vcr, &question("hi")).await.text(), "ok");
    done(vcr).await;
    let error = ask(&late, 1).await.unwrap_err();
    assert!(error.contains("ended"), "{error}");
    // The port is closed, or answers for the session that has ended; never for another one.
    let answer = vcr_tests::http::send("POST", &format!("{base}/chat/completions"), &[], b"{}").await;
    if let Ok(answer) = answer {
        assert_ne!(answer.status, 200);
    }
}

#[tokio::test]
async fn two_sessions_at_once_do_not_mix() {
    let (one, two) = (Rig::new(), Rig::new());
    let (first, second) = (one.record(), two.record());
    let (left, right) = tokio::join!(
        first.scope(async {
            (
                ask_ambient(1).await,
                tokio::task::yield_now().await,
                ask_ambient(2).await,
            )
        }),
        second.scope(async {
            (
                ask_ambient(3).await,
                tokio::task::yield_now().await,
                ask_ambient(4).await,
            )
        }),
    );
    assert_eq!(
        (left.0, left.2, right.0, right.2),
        (Ok(10), Ok(20), Ok(30), Ok(40))
    );
    done(first).await;
    done(second).await;
    assert_eq!(
        (one.cassette().calls().len(), two.cassette().calls().len()),
        (2, 2)
    );
    let vcr = one.replay();
    assert!(
        vcr.scope(ask_ambient(3)).await.is_err(),
        "another session's call was served"
    );
    complaint(vcr).await;
}

#[tokio::test]
async fn a_call_under_way_at_the_end_is_not_waited_for_for_ever() {
    let rig = Rig::new();
    let vcr = rig.record();
    let handle = vcr.clone();
    let task = tokio::spawn(async move {
        let request = json!({"q": 1});
        let never = handle.intercept(&request, std::future::pending::<Result<u32, std::io::Error>>);
        never.await.map_err(|error| error.to_string())
    });
    tokio::task::yield_now().await;
    let ended = tokio::time::timeout(Duration::from_secs(30), vcr.finish()).await;
    assert!(ended.is_ok(), "the end of the session hangs on a call");
    task.abort();
}
