use std::path::Path;

use super::*;
use crate::error::Error;
use crate::source::script::chunk::Reason;

const HEADER: &str = "{\"type\":\"session\",\"version\":0,\"id\":\"rec-1\",\"createdAt\":10}";

fn text(index: u32, text: &str) -> Chunk {
    Chunk::Text {
        index,
        text: text.to_owned(),
    }
}

fn event(step: u32, chunk: &str) -> String {
    format!("{{\"type\":\"assistant/chunk\",\"data\":{{\"turn\":1,\"step\":{step},\"chunk\":{chunk}}}}}")
}

fn finish(step: u32) -> String {
    event(step, "{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}")
}

fn delta(step: u32, text: &str) -> String {
    event(
        step,
        &format!("{{\"type\":\"text-delta\",\"index\":0,\"text\":\"{text}\"}}"),
    )
}

fn read(lines: &[String], is_child: bool) -> Result<Log, Error> {
    let text = format!("{HEADER}\n{}\n", lines.join("\n"));
    Log::read(text, is_child).map_err(|fault| fault.error(Path::new("s.jsonl")))
}

#[test]
fn the_made_up_example_is_one_call() {
    let text = "\n{\"type\":\"session\",\"version\":0,\"id\":\"rec-1\",\"createdAt\":10}\r\n\
        {\"type\":\"assistant/chunk\",\"data\":{\"turn\":1,\"step\":1,\"chunk\":{\"type\":\"block-start\",\"index\":0,\"blockType\":\"text\"}}}\r\n\
        \r\n\
        {\"type\":\"text-chunks\",\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[0,5],\"texts\":[\"a\",\"b\",\"c\"]}}\r\n\
        {\"type\":\"assistant/chunk\",\"data\":{\"turn\":1,\"step\":1,\"chunk\":{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}}}";
    let log = Log::read(text.to_owned(), false).unwrap();
    assert_eq!(
        (log.header.id.as_str(), log.header.created_at, log.len()),
        ("rec-1", 10, 1)
    );
    let expected = [
        (0, Chunk::Start),
        (0, self::text(0, "a")),
        (0, self::text(0, "b")),
        (5, self::text(0, "c")),
        (0, Chunk::Finish(Reason::Stop)),
    ];
    assert_eq!(log.call(0).unwrap(), expected);
    assert_eq!(log.call(1), None);
}

#[test]
fn packed_rows_of_every_kind_have_the_times_of_their_events() {
    let lines = [
        "{\"type\":\"reasoning-chunks\",\"seq0\":1,\"time0\":100,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[7,-2],\"texts\":[\"x\",\"y\",\"z\"]}}",
        "{\"type\":\"tool-call-chunks\",\"seq0\":4,\"time0\":110,\"data\":{\"turn\":1,\"step\":1,\"index\":1,\"id\":\"t\",\"name\":\"f\",\"dt\":[],\"args\":[\"{}\"]},\"sourceEventSeqs\":[1,[2,4],9]}",
        "{\"type\":\"assistant/chunk\",\"seq\":5,\"time\":120,\"data\":{\"turn\":1,\"step\":1,\"chunk\":{\"type\":\"finish\",\"reason\":{\"kind\":\"tool-calls\"},\"replayState\":{\"response\":1}}}}",
    ];
    let log = read(&lines.map(str::to_owned), false).unwrap();
    let reasoning = |text: &str| Chunk::Reasoning {
        index: 0,
        text: text.to_owned(),
    };
    let tool = Chunk::Tool {
        index: 1,
        id: "t".to_owned(),
        name: Some("f".to_owned()),
        arguments: "{}".to_owned(),
    };
    let expected = [
        (100, reasoning("x")),
        (107, reasoning("y")),
        (105, reasoning("z")),
        (110, tool),
        (120, Chunk::Finish(Reason::ToolCalls)),
    ];
    assert_eq!(log.call(0).unwrap(), expected);
}

#[test]
fn calls_end_at_their_finish_and_retries_share_a_step() {
    let other = "{\"type\":\"turn/end\",\"data\":{\"error\":true}}".to_owned();
    let lines = [
        finish(1),
        delta(1, "a"),
        other,
        finish(1),
        delta(2, "b"),
        finish(2),
    ];
    let log = read(&lines, false).unwrap();
    let said = |index| {
        let chunks = log.call(index).unwrap();
        chunks
            .into_iter()
            .filter(|(_, chunk)| matches!(chunk, Chunk::Text { .. }))
            .collect::<Vec<_>>()
    };
    assert_eq!(log.len(), 3);
    assert_eq!(
        (said(0), said(1), said(2)),
        (vec![], vec![(0, text(0, "a"))], vec![(0, text(0, "b"))])
    );
    assert_eq!(read(&[], false).unwrap().len(), 0);
}

#[test]
fn a_marked_summary_is_a_call_where_it_stands() {
    let summary = "{\"type\":\"compaction/summary\",\"data\":{\"llmStreamCall\":true,\"rawOutput\":[{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"text\",\"text\":\"s\"}],\"usage\":{\"inputTokens\":3,\"outputTokens\":2}}}";
    let unmarked = "{\"type\":\"compaction/summary\",\"data\":{\"rawOutput\":1}}";
    let lines = [finish(1), summary.to_owned(), unmarked.to_owned(), finish(1)];
    let log = read(&lines, false).unwrap();
    assert_eq!(log.len(), 3);
    let kinds: Vec<_> = log
        .call(1)
        .unwrap()
        .into_iter()
        .map(|(_, chunk)| std::mem::discriminant(&chunk))
        .collect();
    let start = std::mem::discriminant(&Chunk::Start);
    assert_eq!((kinds.len(), kinds[0], kinds[2]), (6, start, start));
}

#[test]
fn a_child_begins_behind_what_it_inherited_even_within_a_packed_row() {
    let header = HEADER.replace("10}", "10,\"seedLength\":4}");
    let packed = "{\"type\":\"text-chunks\",\"data\":{\"turn\":1,\"step\":2,\"index\":0,\"dt\":[0,0],\"texts\":[\"a\",\"b\",\"c\"]}}";
    let file = [header, delta(1, "old"), finish(1), packed.to_owned(), finish(2)].join("\n");
    let child = Log::read(file.clone(), true).unwrap();
    assert_eq!(child.len(), 1);
    let expected = [(0, text(0, "c")), (0, Chunk::Finish(Reason::Stop))];
    assert_eq!(child.call(0).unwrap(), expected);
    assert_eq!(Log::read(file, false).unwrap().len(), 2);
}

#[test]
fn an_unfinished_call_is_named_with_the_way_out() {
    let summary = "{\"type\":\"compaction/summary\",\"data\":{}}".to_owned();
    for (lines, before) in [
        (vec![finish(1), delta(2, "a")], "the log ends"),
        (
            vec![finish(1), delta(2, "a"), delta(3, "b"), finish(3)],
            "another call begins",
        ),
        (
            vec![finish(1), delta(2, "a"), summary, finish(2)],
            "a summary comes",
        ),
    ] {
        let error = read(&lines, false).unwrap_err();
        assert_eq!(
            error.message(),
            format!(
                "the session script s.jsonl line 3 begins the call of turn 1 step 2, which has no `finish` before {before}"
            )
        );
        assert!(error.advice().contains("(`override_file`)"), "{error}");
        assert_eq!(error.line(), Some(3));
    }
}

#[test]
fn full_and_projected_lines_do_not_mix() {
    let full = "{\"type\":\"x\",\"seq\":1,\"time\":2,\"data\":{}}".to_owned();
    let projected = "{\"type\":\"x\",\"data\":{}}".to_owned();
    for (lines, says) in [
        (
            vec![full.clone(), full.clone(), projected.clone()],
            "the session script s.jsonl line 4 has no number and time, and the lines before it have: projected and full lines do not mix",
        ),
        (
            vec![projected, full],
            "the session script s.jsonl line 3 has a number and a time, and the lines before it have none: projected and full lines do not mix",
        ),
    ] {
        let error = read(&lines, false).unwrap_err();
        assert_eq!(error.message(), says);
        assert_eq!(error.advice(), "correct the line, or record the session again");
    }
}

#[test]
fn each_rule_of_a_line_names_it() {
    let packed = |data: &str| format!("{{\"type\":\"text-chunks\",\"data\":{{{data}}}}}");
    let step = "\"turn\":1,\"step\":1,\"index\":0";
    for (line, says) in [
        ("nonsense".to_owned(), "is no JSON document: expected a value (column 1)"),
        ("{\"type\":\"x\",\"type\":\"x\"}".to_owned(), "is no JSON document: the object names this key twice (column 24)"),
        ("[]".to_owned(), "is no object"),
        ("{\"data\":{}}".to_owned(), "has no text `type`"),
        ("{\"type\":\"x\",\"seq\":1}".to_owned(), "has `seq` and no `time`"),
        ("{\"type\":\"x\",\"time\":1}".to_owned(), "has `time` and no `seq`"),
        ("{\"type\":\"x\",\"seq\":1,\"time\":-1}".to_owned(), "has a `time` that is no whole number in its range"),
        ("{\"type\":\"x\",\"sourceEventSeqs\":[3,[2,5]]}".to_owned(), "has `sourceEventSeqs` that are no growing list of numbers and `[first, last]` pairs"),
        ("{\"type\":\"x\",\"sourceEventSeqs\":[[5,2]]}".to_owned(), "has `sourceEventSeqs` that are no growing list of numbers and `[first, last]` pairs"),
        ("{\"type\":\"assistant/chunk\"}".to_owned(), "has no `data`"),
        ("{\"type\":\"assistant/chunk\",\"data\":{\"turn\":1,\"chunk\":{\"type\":\"text-delta\",\"index\":0,\"text\":\"\"}}}".to_owned(), "has `data` that has no `step`"),
        (event(1, "{\"type\":\"text-delta\",\"index\":0,\"text\":1}"), "has a chunk that has a `text` that is no text"),
        (event(1, "{\"type\":\"noise\"}"), "has a chunk that has the unknown type `noise`"),
        (packed(&format!("{step},\"dt\":[],\"texts\":[]")), "has `data` that packs no chunk, or has not one `dt` less than chunks"),
        (packed(&format!("{step},\"dt\":[1],\"texts\":[\"a\"]")), "has `data` that packs no chunk, or has not one `dt` less than chunks"),
        (packed(&format!("{step},\"dt\":[0.5],\"texts\":[\"a\",\"b\"]")), "has `data` that has a `dt` that is no whole number in its range"),
        (packed(&format!("{step},\"dt\":[],\"texts\":[1]")), "has `data` that packs a chunk that is no text"),
        (packed(&format!("{step},\"dt\":[],\"texts\":[\"a\"],\"id\":\"x\"")), "has `data` that has the member `id`, which has no place there"),
        ("{\"type\":\"text-chunks\",\"data\":{},\"extra\":1}".to_owned(), "has the member `extra`, which has no place there"),
        ("{\"type\":\"text-chunks\",\"data\":{},\"seq\":1}".to_owned(), "has the member `seq`, which has no place there"),
        ("{\"type\":\"text-chunks\",\"data\":{},\"time\":1}".to_owned(), "has the member `time`, which has no place there"),
        ("{\"type\":\"text-chunks\",\"data\":{},\"seq0\":1}".to_owned(), "has `seq0` and no `time0`"),
        ("{\"type\":\"text-chunks\",\"data\":{},\"time0\":1}".to_owned(), "has `time0` and no `seq0`"),
        ("{\"type\":\"text-chunks\",\"seq0\":\"1\",\"time0\":1,\"data\":{}}".to_owned(), "has a `seq0` that is no whole number in its range"),
        ("{\"type\":\"text-chunks\",\"seq0\":1,\"time0\":9007199254740992,\"data\":{}}".to_owned(), "has a `time0` that is no whole number in its range"),
        ("{\"type\":\"text-chunks\"}".to_owned(), "has no `data`"),
        ("{\"type\":\"text-chunks\",\"data\":[]}".to_owned(), "has `data` that is no object"),
        (packed("\"turn\":1,\"step\":1,\"index\":0,\"dt\":[]"), "has `data` that has no `texts`"),
        (packed("\"turn\":1,\"step\":1,\"dt\":[],\"texts\":[\"a\"]"), "has `data` that has no `index`"),
        (packed("\"step\":1,\"index\":0,\"dt\":[],\"texts\":[\"a\"]"), "has `data` that has no `turn`"),
        (packed(&format!("{step},\"texts\":[\"a\"]")), "has `data` that has no `dt`"),
        (packed(&format!("{step},\"dt\":[1e300],\"texts\":[\"a\",\"b\"]")), "has `data` that has a `dt` that is no whole number in its range"),
        (format!("{{\"type\":\"tool-call-chunks\",\"data\":{{{step},\"dt\":[],\"args\":[\"\"]}}}}"), "has `data` that has no `id`"),
        (format!("{{\"type\":\"tool-call-chunks\",\"data\":{{{step},\"id\":\"\",\"name\":1,\"dt\":[],\"args\":[\"\"]}}}}"), "has `data` that has a `name` that is no text"),
        (format!("{{\"type\":\"tool-call-chunks\",\"data\":{{{step},\"id\":\"\",\"dt\":[],\"texts\":[\"\"]}}}}"), "has `data` that has the member `texts`, which has no place there"),
        ("{\"type\":\"assistant/chunk\",\"data\":{\"turn\":1,\"step\":1}}".to_owned(), "has `data` that has no `chunk`"),
        ("{\"type\":\"assistant/chunk\",\"data\":{\"turn\":1,\"step\":1,\"chunk\":1}}".to_owned(), "has a chunk that is no object"),
        ("{\"type\":\"assistant/chunk\",\"data\":{\"turn\":1,\"step\":1,\"chunk\":{},\"x\":1}}".to_owned(), "has `data` that has the member `x`, which has no place there"),
        ("{\"type\":\"x\",\"sourceEventSeqs\":5}".to_owned(), "has `sourceEventSeqs` that are no growing list of numbers and `[first, last]` pairs"),
        ("{\"type\":\"x\",\"sourceEventSeqs\":[[1,2,3]]}".to_owned(), "has `sourceEventSeqs` that are no growing list of numbers and `[first, last]` pairs"),
        ("{\"type\":\"compaction/summary\",\"data\":{\"llmStreamCall\":true,\"rawOutput\":{}}}".to_owned(), "has `data` that has a `rawOutput` that is no list"),
        ("{\"type\":\"compaction/summary\",\"data\":{\"llmStreamCall\":true,\"rawOutput\":[],\"usage\":{}}}".to_owned(), "has a `usage` that has no `inputTokens`"),
        ("{\"type\":\"compaction/summary\",\"data\":{\"llmStreamCall\":true}}".to_owned(), "marks a call of a model and has no `rawOutput`"),
        ("{\"type\":\"compaction/summary\",\"data\":{\"llmStreamCall\":true,\"rawOutput\":[{\"type\":\"text\"}]}}".to_owned(), "has a block that has no `text`"),
    ] {
        let error = read(&[String::new(), line.clone()], false).unwrap_err();
        assert_eq!(error.message(), format!("the session script s.jsonl line 3 {says}"), "{line}");
    }
    let late = event(
        1,
        "{\"type\":\"usage\",\"usage\":{\"inputTokens\":1,\"outputTokens\":1}}",
    );
    let error = read(&[late, delta(1, "a"), finish(1)], false).unwrap_err();
    assert_eq!(
        error.message(),
        "the session script s.jsonl line 3 has a chunk behind the `usage` of its call; only `finish` may follow"
    );
}

#[test]
fn a_header_is_a_session_of_a_known_version() {
    for (text, says) in [
        ("", "the session script s.jsonl has no header"),
        ("\n\n[]", "the session script s.jsonl line 3 is no object"),
        (
            "\n{\"type\":\"session\"",
            "the session script s.jsonl line 2 is no JSON document: the document ends in the middle (was the file cut?) (column 18)",
        ),
        (
            "{\"type\":\"x\",\"data\":{}}",
            "the session script s.jsonl line 1 is no header, an object with the type `session`",
        ),
        (
            "{\"id\":\"x\"}",
            "the session script s.jsonl line 1 is no header, an object with the type `session`",
        ),
        (
            "{\"type\":\"session\",\"version\":1}",
            "the session script s.jsonl line 1 is the header of version 1, and version 0 is understood",
        ),
        (
            "{\"type\":\"session\",\"version\":\"0\"}",
            "the session script s.jsonl line 1 is the header of version \\\"0\\\", and version 0 is understood",
        ),
        (
            "{\"type\":\"session\",\"createdAt\":-1}",
            "the session script s.jsonl line 1 has a `createdAt` that is no whole number in its range",
        ),
        (
            "{\"type\":\"session\",\"parentSession\":1}",
            "the session script s.jsonl line 1 has a `parentSession` that is no text",
        ),
        (
            "{\"type\":\"session\",\"firstRequestHash\":\"sha256:0\"}",
            "the session script s.jsonl line 1 has a `firstRequestHash` that is no `sha256:` with 64 digits in lower case",
        ),
    ] {
        let error = Log::read(text.to_owned(), false)
            .unwrap_err()
            .error(Path::new("s.jsonl"));
        assert_eq!(error.message(), says, "{text}");
    }
}

#[test]
fn a_line_is_bounded_in_depth_and_number() {
    let nested = |depth: usize| {
        format!(
            "{{\"type\":\"x\",\"data\":{}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    assert!(read(&[nested(63)], false).is_ok());
    let deep =
        "the session script s.jsonl line 2 is no JSON document: the document is nested too deeply (column ";
    for depth in [64, 100_000] {
        let error = read(&[nested(depth)], false).unwrap_err();
        assert!(error.message().starts_with(deep), "{error}");
        assert_eq!(error.line(), Some(2));
        assert!(error.message().len() < 200);
        // The header is a line like the others.
        let header = nested(depth).replace("\"x\"", "\"session\"");
        let error = Log::read(header, false).unwrap_err().error(Path::new("s.jsonl"));
        assert!(
            error.message().starts_with(&deep.replace("line 2", "line 1")),
            "{error}"
        );
    }
    let many = |count: usize| format!("{{\"type\":\"x\",\"data\":[{}]}}", vec!["1"; count].join(","));
    assert!(read(&[many(99_000)], false).is_ok());
    let error = read(&[many(100_001)], false).unwrap_err();
    assert_eq!(error.line(), Some(2));
    assert!(error.message().contains("too many values"), "{error}");
}
