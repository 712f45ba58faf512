//! Calls that belong to no session and name their own cassette. A process of its own: any session makes such calls escapes.

use vcr_runtime::{Client, Failure, Reply, Request};

#[tokio::test]
async fn a_call_of_its_own_leaves_nothing_over() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("two.json"),
        r#"{"latest_trace_id": "t", "traces": {"t": {"calls": [
            {"request_context": {"messages": [{"role": "user", "content": "one"}]}, "response_timeline": [{"chunk": "1"}]},
            {"request_context": {"messages": [{"role": "user", "content": "two"}]}, "response_timeline": [{"chunk": "2"}]}
        ]}}}"#,
    )
    .unwrap();
    let client = Client::new(|_: Request| async { Err::<Reply, _>(Failure::new("Live", "went live")) });
    for mode in ["replay", "auto", "new"] {
        let request = || {
            Request::new("m")
                .user("one")
                .metadata("vcr", mode)
                .metadata("vcr_filename", "two")
                .metadata("vcr_fixture_dir", directory.path().to_str().unwrap())
        };
        assert_eq!(client.completion(request()).await.unwrap().text, "1", "{mode}");
        let stream = client.completion_stream(request()).await.unwrap();
        assert_eq!(stream.collect().await.unwrap().text, "1", "{mode}");
        // No lock and no journal stays behind.
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{mode}");
    }
}
