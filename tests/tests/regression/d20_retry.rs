//! A retry is two calls: the refusal and the answer, in order, once each.

use vcr_runtime::Mode;
use vcr_tests::rig::{InProcess, Rig, Say, chat, complaint, done, question};
use vcr_tests::{Reply, Upstream};

const SLOW_DOWN: &str = r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#;

fn refusal(status: u16) -> Reply {
    Reply::json_text(status, SLOW_DOWN).header("retry-after", "20")
}

#[tokio::test]
async fn the_refusal_and_then_the_answer() {
    for status in [429, 500, 529] {
        for raw in ["auto", "false"] {
            let upstream = Upstream::start([refusal(status), Reply::text("ok")]);
            let rig = Rig::new();
            let vcr = rig
                .builder(Mode::Record)
                .include_raw(raw.parse().unwrap())
                .open()
                .unwrap();
            for expected in [status, 200] {
                assert_eq!(
                    vcr_tests::rig::ask(&vcr, &upstream.v1(), &question("hi"))
                        .await
                        .status,
                    expected
                );
            }
            assert_eq!(upstream.count(), 2, "the gateway itself retries nothing");
            done(vcr).await;

            let vcr = rig.replay();
            let first = chat(&vcr, &question("hi")).await;
            assert_eq!(
                (first.status, first.header("retry-after")),
                (status, Some("20")),
                "raw={raw}"
            );
            assert_eq!(first.answer().error.unwrap()["message"], "slow down");
            let second = chat(&vcr, &question("hi")).await;
            assert_eq!((second.status, second.text().as_str()), (200, "ok"));
            done(vcr).await;
        }
    }
}

#[tokio::test]
async fn a_caller_that_does_not_retry_leaves_one_over() {
    let rig = Rig::recorded([
        (question("hi"), refusal(429)),
        (question("hi"), Reply::text("ok")),
    ])
    .await;
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &question("hi")).await.status, 429);
    let error = complaint(vcr).await.to_string();
    assert!(error.contains("hi"), "the leftover is not described:\n{error}");
}

#[tokio::test]
async fn a_miss_is_nothing_that_clients_retry() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
    let answer = chat(&vcr, &question("other")).await;
    assert_eq!(answer.status, 409);
    assert_eq!(answer.header("retry-after"), None);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    complaint(vcr).await;
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let vcr = rig.record();
    let client = InProcess::new(
        &vcr,
        [
            vec![Say::Fail("slow down")],
            vec![Say::Text("ok"), Say::Finish("stop")],
        ],
    );
    assert!(client.unary("hi").await.error.is_some());
    assert_eq!(client.unary("hi").await.text(), "ok");
    done(vcr).await;
    let vcr = rig.replay();
    let client = InProcess::new(&vcr, []);
    assert!(
        client
            .unary("hi")
            .await
            .error
            .is_some_and(|error| error.contains("slow down"))
    );
    assert_eq!(client.unary("hi").await.text(), "ok");
    done(vcr).await;
}

#[tokio::test]
async fn the_refusal_and_the_success_in_order_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let request = question("hi");
        let vcr = rig.record();
        front
            .send(&vcr, &request, Err("slow down"))
            .await
            .text
            .unwrap_err();
        assert_eq!(front.send(&vcr, &request, Ok("ok")).await.good(), "ok");
        done(vcr).await;
        let vcr = rig.replay();
        let refused = front.send(&vcr, &request, Ok("live")).await;
        assert!(refused.refused().contains("slow down"), "{front:?}: {refused:?}");
        assert_eq!(
            front.send(&vcr, &request, Ok("live")).await.good(),
            "ok",
            "{front:?}"
        );
        done(vcr).await;
    }
}
