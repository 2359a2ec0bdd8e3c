//! `swtch serve --otlp`: what a receiver gets, and what happens when it is slow, away or refuses. `python/tests/test_otlp.py` reads the messages.

use crate::common::{home, run, stderr, swtch};
use crate::scraping::Serving;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A message: its request line, its headers and its body.
struct Message {
    head: Vec<String>,
    body: Vec<u8>,
    at: Instant,
}

/// Takes messages and gives these answers, the last one again and again.
fn receiver(answers: &'static [&'static str]) -> (SocketAddr, Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut reader = BufReader::new(stream.unwrap());
            let head: Vec<String> =
                reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let answer = answers[number.min(answers.len() - 1)];
            let _ = reader.get_mut().write_all(answer.as_bytes());
            if sender.send(Message { head, body, at: Instant::now() }).is_err() {
                return;
            }
        }
    });
    (address, messages)
}

const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n";
const LIMIT: Duration = Duration::from_secs(60);

fn sum(serving: &Serving, outcome: &str) -> f64 {
    serving
        .metrics()
        .get(&format!("swtch_otlp_exports_total{{outcome=\"{outcome}\"}}"))
        .copied()
        .unwrap_or(0.0)
}

#[test]
fn a_message_that_a_busy_receiver_did_not_take_comes_again_when_it_asks_for_it() {
    let (address, messages) = receiver(&[BUSY, TAKEN]);
    let home = home();
    let url = format!("http://{address}");
    let arguments = ["--otlp", &url, "--otlp-interval", "1s", "--otlp-header", "x-key=a b"];
    let serving = Serving::start(home.path(), &arguments);
    let first = messages.recv_timeout(LIMIT).unwrap();
    let again = messages.recv_timeout(LIMIT).unwrap();
    assert_eq!(first.head[0], "POST /v1/metrics HTTP/1.1");
    assert!(first.head.contains(&"Content-Type: application/x-protobuf".to_owned()), "{:?}", first.head);
    assert!(first.head.contains(&"x-key: a b".to_owned()), "{:?}", first.head);
    assert!(first.body == again.body && again.at - first.at >= Duration::from_secs(2), "the same, later");
    let next = messages.recv_timeout(LIMIT).unwrap();
    assert!(next.body != again.body);
    while sum(&serving, "sent") < 2.0 {
        assert!(first.at.elapsed() < LIMIT, "{:?}", serving.metrics());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!((sum(&serving, "refused"), sum(&serving, "dropped")), (0.0, 0.0));
}

#[test]
fn a_receiver_that_refuses_or_is_away_costs_no_scrape_and_one_line() {
    let (address, messages) = receiver(&["HTTP/1.1 403 Forbidden\r\n\r\n"]);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, said) in [(address, "refused the metrics: status 403"), (nobody, "Connection refused")] {
        let home = home();
        let url = format!("http://{address}");
        let mut serving = Serving::start(home.path(), &["--otlp", &url, "--otlp-interval", "1s"]);
        std::thread::sleep(Duration::from_millis(2_500));
        let begun = Instant::now();
        assert!(!serving.metrics().is_empty() && begun.elapsed() < Duration::from_secs(9));
        assert_eq!(serving.end("INT"), Some(0));
        let complaints = serving.complaints();
        assert_eq!(complaints.matches(said).count(), 1, "{complaints}");
    }
    assert!(messages.try_iter().count() > 1, "new messages are tried all the same");
}

#[test]
fn what_is_no_receiver_is_said_in_a_line() {
    let home = home();
    for (arguments, said) in [
        (&["--otlp", "https://collector"][..], "https is not spoken"),
        (&["--otlp", "collector:4318"], "not an address of the form http://HOST:PORT/PATH"),
        (&["--otlp", "env"], "OTEL_EXPORTER_OTLP_ENDPOINT is set"),
        (&["--otlp", "http://a", "--otlp-header", "a"], "'a' is not NAME=VALUE"),
        (&["--otlp", "http://a", "--otlp-interval", "1ms"], "1ms is not between 1s and 1h"),
        (&["--otlp-interval", "1s"], "--otlp <URL>"),
    ] {
        let output = run(swtch(home.path()).args(["serve", "--listen", "127.0.0.1:0"]).args(arguments));
        assert!(!output.status.success(), "{arguments:?}");
        let error = stderr(&output);
        assert!(error.contains(said) && error.trim_end().lines().count() == 1, "{arguments:?}: {error}");
    }
}
