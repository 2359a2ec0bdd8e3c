use super::*;
use crate::model::Provenance;
use crate::tables::{Tables, TaskRow};
use std::io::Write;

const MONOTONIC_NS: u64 = 5_000_000_000;
const WALL_NS: u64 = 1_700_000_000_000_000_000;

/// A Trace of a second with the threads 7 and 8 of the process 7.
fn trace() -> (Header, Tables) {
    let provenance =
        Provenance { started_monotonic_ns: MONOTONIC_NS, started_unix_ns: WALL_NS, ..Provenance::default() };
    let mut header = Header::new(provenance, swtch_topology::Host::default(), Scope::Machine);
    header.duration_ns = 1_000_000_000;
    let task = |tid| TaskRow { tid, pid: 7, comm: "shop".to_owned(), in_scope: true, ..TaskRow::default() };
    (header, Tables { tasks: vec![task(7), task(8)], ..Tables::default() })
}

fn read(text: &str, source: SpanSource<'_>) -> Result<Spans, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (header, tables) = trace();
    let name = file.path().display().to_string();
    Spans::read(file.path(), source, tables.view(&header))
        .map_err(|error| error.to_string().replace(&name, "FILE"))
}

fn span(name: &str, id: Option<&str>, owner: SpanOwner, begin_ns: u64, end_ns: u64) -> Span {
    Span { name: name.to_owned(), id: id.map(str::to_owned), owner, begin_ns, end_ns }
}

#[test]
fn lines_of_the_contract_are_read() {
    let text = "{\"event\":\"ready\",\"version\":1,\"pid\":7}\n\
        {\"event\":\"spans\",\"name\":\"pay\",\"tid\":8,\"id\":[\"a\",5],\"begin_ns\":[5000000200,5000000100],\"end_ns\":[5000000300,5000000150]}\n\
        {\"event\":\"begin\",\"id\":1,\"t_ns\":5000000500}\n{\"event\":\"begin\",\"id\":2,\"t_ns\":5000000600}\n\
        {\"event\":\"end\",\"id\":1,\"t_ns\":5000000700}\n{\"event\":\"spans\",\"begin_ns\":[1],\"end_ns\":[2]}\n\
        {\"event\":\"metrics\",\"n\":1}\n{\"event\":\"spa";
    let spans = read(text, SpanSource::default()).unwrap();
    let of = [
        span("pay", Some("5"), SpanOwner::Thread(8), 100, 150),
        span("pay", Some("a"), SpanOwner::Thread(8), 200, 300),
        span("work", Some("1"), SpanOwner::Process(7), 500, 700),
    ];
    assert_eq!((spans.spans.as_slice(), spans.outside, spans.unended), (&of[..], 1, 1));
    assert_eq!(spans.names(), [("pay", 2), ("work", 1)]);
}

#[test]
fn otlp_is_read_by_line_and_as_one_document() {
    let document = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"process.pid","value":{"intValue":"7"}}]},
        "scopeSpans":[{"spans":[
        {"name":"GET /","spanId":"ab","startTimeUnixNano":"1700000000000000100","endTimeUnixNano":1700000000000000200,
         "attributes":[{"key":"thread.id","value":{"intValue":"8"}}]},
        {"name":"managed","startTimeUnixNano":"1700000000000000100","endTimeUnixNano":"1700000000000000200",
         "attributes":[{"key":"thread.id","value":{"intValue":1}}]},
        {"name":"open","startTimeUnixNano":"1700000000000000100"}]}]}]}"#;
    let of = [
        span("GET /", Some("ab"), SpanOwner::Thread(8), 100, 200),
        span("managed", None, SpanOwner::Process(7), 100, 200),
    ];
    for text in [document.to_owned(), document.replace('\n', " ") + "\n"] {
        let spans = read(&text, SpanSource::default()).unwrap();
        assert_eq!((spans.spans.as_slice(), spans.unended), (&of[..], 1));
    }
}

#[test]
fn access_logs_are_read_by_the_servers_own_formats() {
    let nginx: LogFormat =
        r#"$remote_addr - [$time_local] "$request" $status $msec $request_time $pid"#.parse().unwrap();
    let line = "::1 - [x y] \"GET /cart/12?a=b HTTP/1.1\" 200 1700000000.500 0.040 7\n";
    let source = SpanSource { log_format: Some(&nginx), program: None };
    let expected = [span("GET /cart/*", None, SpanOwner::Process(7), 460_000_000, 500_000_000)];
    assert_eq!(read(line, source).unwrap().spans, expected);
    assert_eq!(
        read("nonsense\n", source).unwrap_err(),
        "FILE:1: is not of the format that --log-format names"
    );
    let apache: LogFormat = r#"%h %>s "%r" %{usec}t %D"#.parse().unwrap();
    let line = "::1 200 \"POST /pay HTTP/1.1\" 1700000000460000 40000\n";
    let source = SpanSource { log_format: Some(&apache), program: Some("shop") };
    let expected = [span("POST /pay", None, SpanOwner::Program("shop".to_owned()), 460_000_000, 500_000_000)];
    assert_eq!(read(line, source).unwrap().spans, expected);
    let nameless = read(line, SpanSource { program: None, ..source }).unwrap_err();
    assert!(nameless.contains("--program NAME"), "{nameless}");
    let coarse = "[$time_local] $request_time".parse::<LogFormat>().unwrap_err();
    assert!(coarse.contains("$time_local gives times to a second only"), "{coarse}");
}

#[test]
fn what_does_not_fit_is_refused_in_one_line() {
    let wrong = [
        ("hello\n", "FILE:1: is neither a line of the workload contract nor OTLP/JSON"),
        ("", "FILE: it holds no span"),
        ("{\"event\":\"begin\",\"id\":1,\"t_ns\":1}\n", "none of its 1 spans has an end"),
        ("{\"event\":\"end\",\"id\":1,\"t_ns\":1}\n", "FILE:1: span 1 ended, but did not begin"),
        (
            "{\"event\":\"spans\",\"begin_ns\":[2],\"end_ns\":[1]}\n",
            "FILE:1: a span ends at 1 ns, before it begins at 2 ns",
        ),
        ("{\"event\":\"spans\",\"begin_ns\":[2],\"end_ns\":[]}\n", "lists of the same length"),
        (
            "{\"event\":\"spans\",\"pid\":7,\"begin_ns\":[1],\"end_ns\":[2]}\n",
            "no span lies within the Trace",
        ),
        (
            "{\"event\":\"spans\",\"pid\":9,\"begin_ns\":[5000000001],\"end_ns\":[5000000002]}\n",
            "is in the Trace: it is of another machine",
        ),
        (
            "{\"event\":\"spans\",\"pid\":-1,\"begin_ns\":[],\"end_ns\":[]}\n",
            "'pid' must be the number of a task",
        ),
    ];
    for (text, why) in wrong {
        let error = read(text, SpanSource::default()).unwrap_err();
        assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn overlaps_are_counted_and_nesting_is_none() {
    let of = |begin_ns, end_ns| span("a", None, SpanOwner::Thread(7), begin_ns, end_ns);
    let spans = |list: &[(u64, u64)]| Spans {
        spans: list.iter().map(|(begin_ns, end_ns)| of(*begin_ns, *end_ns)).collect(),
        ..Spans::default()
    };
    assert_eq!(spans(&[(0, 10), (2, 5), (10, 12)]).overlapping(), 0);
    assert_eq!(spans(&[(0, 10), (5, 15), (12, 20)]).overlapping(), 2);
}
