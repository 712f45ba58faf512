//! The table: what each file takes in a cassette, and why a raw layer was kept.

use std::collections::BTreeMap;

use vcr_runtime::Mode;
use vcr_tests::rig::{Rig, done};
use vcr_tests::traffic::{self, Exchange, FOLDERS};
use vcr_tests::{Split, Upstream};

use crate::{round_trip, send, sizes};

/// One recorded exchange.
struct Row {
    name: String,
    file: String,
    protocol: String,
    streamed: bool,
    frames: usize,
    wire: usize,
    /// The whole call, and its answer part: as it stands in the file, and without white space.
    whole: usize,
    compact: usize,
    answer: usize,
    answer_compact: usize,
    /// Name, size as it is, size compact.
    members: Vec<(String, usize, usize)>,
    kept: bool,
    note: String,
}

async fn row(exchange: &Exchange) -> Row {
    let upstream = Upstream::start([exchange.reply().split(Split::Whole)]);
    let rig = Rig::new();
    let vcr = rig.builder(Mode::Record).open().unwrap();
    send(&vcr, &upstream.url(), exchange).await;
    done(vcr).await;
    let cassette = rig.cassette();
    let call = cassette.call();
    let members = sizes::members(&cassette.text);
    let compact = sizes::compact(&call.0);
    let names = |sizes: &[(String, usize)]| -> Vec<String> {
        let mut names: Vec<String> = sizes.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&members), names(&compact), "{}", exchange.name());
    let sum = |sizes: &[(String, usize)]| sizes.iter().map(|(_, size)| size).sum();
    Row {
        name: exchange.name(),
        file: format!("{}/{}", exchange.folder, exchange.file),
        protocol: call.0["protocol"].as_str().unwrap_or("-").to_owned(),
        streamed: exchange.is_stream(),
        frames: call.frames().len(),
        wire: exchange.body.len(),
        whole: sum(&members),
        compact: sum(&compact),
        answer: sizes::answer(&members),
        answer_compact: sizes::answer(&compact),
        kept: call.has_raw(),
        note: round_trip::note(&call).to_owned(),
        members: members
            .into_iter()
            .map(|(name, size)| {
                let compact = compact.iter().find(|(own, _)| *own == name).expect("the member");
                (name, size, compact.1)
            })
            .collect(),
    }
}

impl Row {
    fn print(&self) {
        println!(
            "{:<50} {:<17} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}  {:<4} {}",
            self.name,
            self.protocol,
            self.frames,
            self.wire,
            self.whole,
            self.compact,
            self.answer,
            self.answer_compact,
            if self.kept { "raw" } else { "-" },
            self.note
        );
    }
}

fn print(rows: &[Row]) {
    println!(
        "{:<50} {:<17} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}  raw and why",
        "exchange", "protocol", "frames", "wire", "call", "compact", "answer", "compact"
    );
    rows.iter().for_each(Row::print);
}

/// The share of `part` in `whole`, in per cent.
fn percent(part: usize, whole: usize) -> usize {
    part * 100 / whole
}

fn print_streams(what: &str, streams: &[&Row]) {
    let sum = |size: fn(&Row) -> usize| -> usize { streams.iter().map(|row| size(row)).sum() };
    let wire = sum(|row| row.wire);
    println!("{} {what}, {wire} bytes on the wire", streams.len());
    for (what, size) in [
        ("whole call, as it is", sum(|row| row.whole)),
        ("whole call, compact", sum(|row| row.compact)),
        ("answer part, as it is", sum(|row| row.answer)),
        ("answer part, compact", sum(|row| row.answer_compact)),
    ] {
        println!("  {what}: {size} bytes, {} % of the wire", percent(size, wire));
    }
    let mut members: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (name, size, compact) in streams.iter().flat_map(|row| &row.members) {
        let sums = members.entry(name).or_default();
        *sums = (sums.0 + size, sums.1 + compact);
    }
    for (name, (size, compact)) in members {
        println!(
            "    {name}: {size} bytes, {} % of the wire; compact {compact}, {} %",
            percent(size, wire),
            percent(compact, wire)
        );
    }
}

#[tokio::test]
async fn most_files_need_no_raw_layer() {
    let Some(exchanges) = traffic::load(&FOLDERS) else {
        return;
    };
    let mut rows = Vec::new();
    for exchange in &exchanges {
        rows.push(row(exchange).await);
    }
    print(&rows);
    let mut files: BTreeMap<&str, bool> = BTreeMap::new();
    for row in &rows {
        *files.entry(&row.file).or_default() |= row.kept;
    }
    let without = files.values().filter(|kept| !**kept).count();
    println!("{without} of {} files need no raw layer", files.len());
    let streams: Vec<&Row> = rows.iter().filter(|row| row.streamed).collect();
    print_streams("streamed answers", &streams);
    let lean: Vec<&Row> = streams.iter().copied().filter(|row| !row.kept).collect();
    print_streams("streamed answers without a raw layer", &lean);
    assert!(
        without * 3 >= files.len() * 2,
        "{without} of {} files",
        files.len()
    );
    // By the file as it stands, white space and all.
    let kept: usize = streams.iter().map(|row| row.answer).sum();
    let wire: usize = streams.iter().map(|row| row.wire).sum();
    assert!(kept * 3 < wire, "{kept} of {wire} bytes");
}
