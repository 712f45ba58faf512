use std::future::Future;
use std::net::TcpStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::support::{PATIENCE, Provider, Wire, gateway, pieces, playback, recording, replaying, whole};
use crate::session::{End, HttpTurn, Pace};

#[test]
fn open_exchanges_are_aborted_counted_and_their_recordings_ended() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut caller = Wire::connect(gateway.addr());
        caller.request("POST", "/up/0/chat", &[], b"{}");
        let upstream = provider.stream();
        caller.head();
        streams.push((caller, upstream));
    }
    assert_eq!(gateway.shutdown_blocking(Duration::from_millis(1)), 3);
    for (caller, _) in &mut streams {
        assert_eq!(caller.next_chunk(), None);
        assert_eq!(log.rest(), (vec![], End::Cancelled));
    }
    assert!(TcpStream::connect(gateway.addr()).is_err());
    // The same answer again, and nothing told twice.
    assert_eq!(gateway.shutdown_blocking(PATIENCE), 3);
    drop(gateway);
    assert!(log.is_over());
}

#[test]
fn an_exchange_may_finish_within_the_grace() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.stream();
    caller.head();
    let mut shutdown = pin!(gateway.shutdown(PATIENCE));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(shutdown.as_mut().poll(&mut context), Poll::Pending);
    upstream.chunk(b"late");
    upstream.chunk(b"");
    assert_eq!(caller.chunks(), (vec![b"late".to_vec()], true));
    assert!(caller.is_closed());
    assert_eq!(gateway.shutdown_blocking(PATIENCE), 0);
    assert_eq!(log.rest(), (b"late".to_vec(), End::Complete));
}

#[test]
fn idle_connections_do_not_hold_up_the_shutdown() {
    let gateway = replaying(|| playback(&[], whole("x"), false));
    let mut used = Wire::connect(gateway.addr());
    used.get("/openai/v1/x");
    used.message();
    let mut unused = Wire::connect(gateway.addr());
    let start = Instant::now();
    assert_eq!(gateway.shutdown_blocking(PATIENCE), 0);
    assert!(start.elapsed() < PATIENCE / 2);
    assert!(used.is_closed());
    // It may not even have been accepted, which its end tells by a reset.
    let _ = unused.try_write(b"x");
}

#[test]
fn dropping_the_gateway_stops_it() {
    let gateway = replaying(|| playback(&[], whole("x"), false));
    let addr = gateway.addr();
    let mut caller = Wire::connect(addr);
    caller.get("/openai/v1/x");
    caller.message();
    drop(gateway);
    assert!(caller.is_closed());
}

#[tokio::test]
async fn it_is_started_used_and_stopped_inside_a_runtime() {
    let gateway = replaying(|| playback(&[], whole("x"), false));
    // The test's only thread is blocked meanwhile.
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/x");
    assert_eq!(caller.message().1, b"x");
    let other = replaying(|| playback(&[], whole("x"), false));
    assert_eq!(other.shutdown_blocking(PATIENCE), 0);
    assert_eq!(gateway.shutdown(PATIENCE).await, 0);
}

#[tokio::test]
async fn many_callers_at_once_get_their_own_answers() {
    let gateway = gateway(|_, request, _| {
        let answer = [request.path.as_bytes(), b" ", request.body].concat();
        HttpTurn::Replay(playback(&[], pieces(&[&answer, b"!"]), false))
    });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let base = format!("http://{}/openai/v1", gateway.addr());
    let calls = (0..200).map(|number| {
        let call = client.post(format!("{base}/{number}")).body(format!("b{number}"));
        tokio::spawn(async move { (number, call.send().await.unwrap().text().await.unwrap()) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (number, answer) = call.await.unwrap();
        assert_eq!(answer, format!("/{number} b{number}!"));
    }
    drop(client);
    assert_eq!(gateway.shutdown(PATIENCE).await, 0);
}

#[test]
fn a_paced_answer_keeps_its_time_and_can_be_aborted() {
    let gateway = gateway(|_, request, _| {
        let mut playback = playback(&[], pieces(&[b"first", b"second"]), false);
        // The second piece is due far after any test's end.
        let latency = if request.path == "/slow" { 3600 } else { 0 };
        playback.pace = Pace::new(1.0, vec![Duration::ZERO, Duration::from_secs(latency)]);
        HttpTurn::Replay(playback)
    });
    let mut fast = Wire::connect(gateway.addr());
    fast.get("/openai/v1/fast");
    fast.head();
    assert_eq!(fast.chunks(), (vec![b"first".to_vec(), b"second".to_vec()], true));
    let mut slow = Wire::connect(gateway.addr());
    slow.get("/openai/v1/slow");
    slow.head();
    assert_eq!(slow.next_chunk().unwrap(), b"first");
    assert_eq!(gateway.shutdown_blocking(Duration::ZERO), 1);
    assert_eq!(slow.next_chunk(), None);
}
