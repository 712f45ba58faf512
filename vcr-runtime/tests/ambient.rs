//! Where code finds the session of its test, and where it does not.
//!
//! The cassettes are in `tests/fixtures`; `VCR_MODE=record cargo test --test ambient` makes them again. A call that missed
//! its session would be refused, and one that never came would leave its recording over: either fails its test.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]
// A test inside a function is none of the harness's: the test around it calls it, and looks at what comes out.
#![allow(unnameable_test_items, reason = "see above")]

use std::cell::RefCell;
use std::sync::{LazyLock, mpsc};
use std::thread;

use tokio::runtime::Handle;
use tokio::task::{JoinSet, LocalSet};
use vcr_runtime::{CallError, Client, ErrorKind, Failure, InCassette as _, Reply, Request, Vcr, vcr_test};

/// Built before any session: its calls belong to whichever session they are made in.
static CLIENT: LazyLock<Client> =
    LazyLock::new(|| Client::new(|request: Request| async move { reply(question(&request)) }));

/// What an upstream says. Only a recording may reach one.
fn reply(text: String) -> Result<Reply, Failure> {
    if std::env::var("VCR_MODE").as_deref() != Ok("record") {
        return Err(Failure::new("Live", "a replay has called its upstream"));
    }
    Ok(Reply::text(text))
}

fn question(request: &Request) -> String {
    request.messages()[0]["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

async fn ask(text: &str) -> Result<String, CallError> {
    let completion = CLIENT.completion(Request::new("test/echo").user(text)).await?;
    Ok(completion.text)
}

/// A call that has to find its session.
async fn answered(text: &str) {
    assert_eq!(ask(text).await.unwrap(), text);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// The vcr error of a call.
fn refused(answer: Result<String, CallError>) -> vcr_runtime::Error {
    match answer {
        Err(CallError::Vcr(error)) => error,
        other => panic!("expected an error of the recorder, found {other:?}"),
    }
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_the_body() {
    answered("body").await;
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_join() {
    tokio::join!(answered("left"), answered("right"));
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_select() {
    tokio::select! {
        () = answered("winner") => {}
        () = std::future::pending() => unreachable!(),
    }
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_a_task() {
    tokio::spawn(answered("task")).await.unwrap();
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_a_task_of_a_task() {
    let outer = tokio::spawn(async {
        tokio::spawn(async { tokio::spawn(answered("third")).await.unwrap() })
            .await
            .unwrap();
        answered("first").await;
    });
    outer.await.unwrap();
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_a_join_set() {
    let mut set = JoinSet::new();
    for text in ["one", "two", "three"] {
        set.spawn(answered(text));
    }
    set.join_all().await;
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn on_a_local_set() {
    let local = LocalSet::new();
    let task = local.spawn_local(async {
        answered("local").await;
        tokio::task::spawn_local(answered("nested")).await.unwrap();
    });
    local.run_until(task).await.unwrap();
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn in_a_join_set_on_a_local_set() {
    let local = LocalSet::new();
    let mut set = JoinSet::new();
    set.spawn_local_on(answered("local member"), &local);
    local.run_until(async { set.join_all().await }).await;
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn on_a_blocking_thread() {
    let task = tokio::task::spawn_blocking(|| {
        Handle::current().block_on(answered("blocking"));
        Handle::current().spawn(answered("spawned from there"))
    });
    task.await.unwrap().await.unwrap();
}

#[vcr_test(fixture_dir = "tests/fixtures")]
fn in_a_plain_function() {
    runtime().block_on(answered("plain"));
}

/// The second runtime's own tasks are on the test's thread, which knows the session.
#[vcr_test(fixture_dir = "tests/fixtures")]
fn in_a_task_of_a_plain_functions_runtime() {
    runtime().block_on(async { tokio::spawn(answered("plain task")).await.unwrap() });
}

#[cfg(feature = "multi-thread")]
mod several_threads {
    use super::*;

    /// Everything at once, on workers that are not the test's thread.
    #[vcr_test(
        fixture_dir = "tests/fixtures",
        flavor = "multi_thread",
        worker_threads = 2,
        matching = keyed
    )]
    async fn everywhere() {
        tokio::join!(answered("left"), answered("right"));
        let nested = tokio::spawn(async { tokio::spawn(answered("nested")).await.unwrap() });
        nested.await.unwrap();
        let mut set = JoinSet::new();
        for text in ["one", "two", "three"] {
            set.spawn(answered(text));
        }
        set.join_all().await;
        let blocking = tokio::task::spawn_blocking(|| Handle::current().block_on(answered("blocking")));
        blocking.await.unwrap();
        LocalSet::new()
            .run_until(async { tokio::task::spawn_local(answered("local")).await.unwrap() })
            .await;
    }

    #[vcr_test(fixture_dir = "tests/fixtures", flavor = "multi_thread", worker_threads = 2)]
    async fn in_place_of_a_worker() {
        let task = tokio::spawn(async {
            tokio::task::block_in_place(|| Handle::current().block_on(answered("in place")));
            // The worker's duties are another thread's by now.
            answered("after it").await;
        });
        task.await.unwrap();
        tokio::task::block_in_place(|| Handle::current().block_on(answered("in the body")));
    }
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn a_foreign_thread_has_no_session() {
    let foreign = thread::Builder::new().name("my-worker".to_owned());
    let thread = foreign.spawn(|| {
        let outside = Vcr::current().map(|_| ()).unwrap_err();
        (outside, runtime().block_on(ask("never sent")))
    });
    let (outside, answer) = thread.unwrap().join().unwrap();
    assert_eq!(outside.kind(), ErrorKind::NoSession);
    assert!(outside.message().contains("the thread `my-worker`"), "{outside}");
    assert!(outside.advice().contains("in_cassette") && outside.advice().contains("sync_scope"));
    let error = refused(answer);
    assert_eq!(error.kind(), ErrorKind::NoSession);
    assert!(error.message().contains("another runtime"), "{error}");
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn a_foreign_thread_is_handed_the_session(vcr: Vcr) {
    let thread = thread::spawn(move || {
        vcr.sync_scope(|| runtime().block_on(answered("in a scope")));
        assert!(Vcr::current().is_err(), "the scope has ended");
        runtime().block_on(answered("in a cassette").in_cassette(&vcr));
        runtime().block_on(vcr.scope(answered("in its scope")));
        assert!(Vcr::current().is_err(), "the future has ended");
    });
    thread.join().unwrap();
}

#[vcr_test(fixture_dir = "tests/fixtures")]
async fn a_second_runtime(vcr: Vcr) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = runtime();
        runtime.block_on(async {
            let lost = tokio::spawn(ask("never sent")).await.unwrap();
            let found = tokio::spawn(ask("handed over").in_cassette(&vcr)).await.unwrap();
            // The scope is the task's, not that of what it spawns.
            let lost_again = async { tokio::spawn(ask("never sent")).await.unwrap() }
                .in_cassette(&vcr)
                .await;
            sender.send((lost, found, lost_again)).unwrap();
        });
    });
    let (lost, found, lost_again) = receiver.recv().unwrap();
    assert_eq!(found.unwrap(), "handed over");
    for answer in [lost, lost_again] {
        let error = refused(answer);
        assert_eq!(error.kind(), ErrorKind::NoSession);
        assert!(
            error
                .message()
                .contains("a task of another runtime than the test's"),
            "{error}"
        );
    }
}

/// A client that was used in one session asks in the next one for the next one's answers.
#[vcr_test(fixture_dir = "tests/fixtures")]
async fn a_client_from_before_the_scope(vcr: &Vcr) {
    let client = CLIENT.clone();
    let completion = client
        .completion(Request::new("test/echo").user("old client"))
        .await
        .unwrap();
    assert_eq!(completion.text, "old client");
    assert_eq!(Vcr::current().unwrap().cassette_path(), vcr.cassette_path());
}

/// The task-local scope beats the thread's session, and gives it back.
#[vcr_test(fixture_dir = "tests/fixtures")]
async fn an_inner_session_shadows_the_tests_own(own: Vcr) {
    let inner = Vcr::builder()
        .scenario("inner")
        .fixture_dir("tests/fixtures")
        .open()
        .unwrap();
    let path = |vcr: &Vcr| vcr.cassette_path().unwrap();
    inner
        .scope(async {
            assert_eq!(path(&Vcr::current().unwrap()), path(&inner));
            answered("to the inner one").await;
        })
        .await;
    assert_eq!(path(&Vcr::current().unwrap()), path(&own));
    answered("to the outer one").await;
    inner.finish().await.unwrap();
}

/// The answer to a call that was made too late.
type Late = Result<String, CallError>;

#[test]
fn a_thread_that_outlives_its_test() {
    thread_local! {
        /// What the test leaves behind for the one that calls it, on the same thread.
        static LEFT: RefCell<Option<(mpsc::Sender<()>, thread::JoinHandle<Late>)>> = const { RefCell::new(None) };
    }

    #[vcr_test(fixture_dir = "tests/fixtures", mode = live)]
    async fn it_leaves_a_thread(vcr: Vcr) {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            receiver.recv().unwrap();
            runtime().block_on(ask("too late").in_cassette(&vcr))
        });
        LEFT.set(Some((sender, thread)));
    }

    it_leaves_a_thread();
    // The next test on this thread does not inherit the session.
    assert!(Vcr::current().is_err());
    let (sender, thread) = LEFT.take().unwrap();
    sender.send(()).unwrap();
    assert_late(thread.join().unwrap(), "vcr_runtime::ambient::it_leaves_a_thread");
}

/// What runs on a thread of the test's runtime cannot be stopped, and keeps its session: the ended one.
#[test]
fn a_blocking_task_that_outlives_its_test() {
    thread_local! {
        static LEFT: RefCell<Option<(mpsc::Sender<()>, mpsc::Receiver<Late>)>> =
            const { RefCell::new(None) };
    }

    #[vcr_test(fixture_dir = "tests/fixtures", mode = live)]
    async fn it_leaves_a_blocking_task() {
        let (go, gone) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        tokio::task::spawn_blocking(move || {
            gone.recv().unwrap();
            answer.send(runtime().block_on(ask("too late"))).unwrap();
        });
        LEFT.set(Some((go, answers)));
    }

    it_leaves_a_blocking_task();
    let (go, answers) = LEFT.take().unwrap();
    go.send(()).unwrap();
    assert_late(
        answers.recv().unwrap(),
        "vcr_runtime::ambient::it_leaves_a_blocking_task",
    );
}

fn assert_late(answer: Late, test: &str) {
    let error = refused(answer);
    assert_eq!(error.kind(), ErrorKind::Ended);
    assert!(error.message().contains(&format!("`{test}`")), "{error}");
    assert!(error.advice().contains("await"), "{error}");
}

/// Two tests that run at once, held at the same point, and again in tasks and on blocking threads.
#[test]
fn tests_at_once_keep_to_their_own_sessions() {
    thread_local! {
        static OTHER: RefCell<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>> = const { RefCell::new(None) };
    }

    /// Waits for the other test; fails when that one has failed.
    fn meet() {
        OTHER.with_borrow(|other| {
            let (here, there) = other.as_ref().unwrap();
            here.send(()).unwrap();
            there.recv().unwrap();
        });
    }

    fn name() -> String {
        let path = Vcr::current().unwrap().cassette_path().unwrap();
        path.file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .rsplit_once("ambient_")
            .unwrap()
            .1
            .to_owned()
    }

    async fn body(own: &'static str) {
        let client = Client::new(move |_: Request| async move { reply(own.to_owned()) });
        for round in 0..20 {
            meet();
            assert_eq!(name(), own);
            // Both ask the same: only the session tells the answers apart.
            let request = Request::new("test/echo").user(format!("round {round}"));
            assert_eq!(client.completion(request).await.unwrap().text, own);
            let task = tokio::spawn(async { (name(), tokio::task::spawn_blocking(name).await.unwrap()) });
            assert_eq!(task.await.unwrap(), (own.to_owned(), own.to_owned()));
        }
    }

    #[vcr_test(fixture_dir = "tests/fixtures")]
    async fn one() {
        body("one").await;
    }

    #[vcr_test(fixture_dir = "tests/fixtures")]
    async fn other() {
        body("other").await;
    }

    let (to_one, from_other) = mpsc::channel();
    let (to_other, from_one) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            OTHER.set(Some((to_other, from_other)));
            one();
        });
        scope.spawn(|| {
            OTHER.set(Some((to_one, from_one)));
            other();
        });
    });
}
