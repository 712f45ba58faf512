//! Recording: the last calls beside the first, and through the gateway beside a bare proxy.

use std::time::Instant;

use vcr_runtime::{Delta, Failure, Mode, Reply, Request, Vcr};

use crate::gateway;
use crate::table::{median, prose, row};

pub fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(flat());
    gateway::record();
}

/// The journal is appended to, so a call costs the same however many came before it.
async fn flat() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = Vcr::builder()
        .scenario("record")
        .fixture_dir(directory.path())
        .mode(Mode::Record)
        .open()
        .unwrap();
    let mut samples = Vec::new();
    for index in 0..1100 {
        let client = vcr.client(move |_: Request| async move {
            Ok::<_, Failure>(Reply::from(vec![
                Delta::text(prose(index, 1000)),
                Delta::finish("stop"),
            ]))
        });
        let request = Request::new("m")
            .system(prose(0, 600))
            .user(format!("Question {index}?"));
        let start = Instant::now();
        client.completion(request).await.unwrap();
        samples.push(start.elapsed());
    }
    let mut first = samples[10..110].to_vec();
    let mut last = samples[1000..].to_vec();
    row(
        "record in process, calls 1000-1100 / 10-110",
        median(&mut last),
        median(&mut first),
        "~ 1.0",
    );
    drop(vcr);
}
