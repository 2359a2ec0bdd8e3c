//! Sends the metrics to a receiver of OTLP, from a thread of its own: a slow receiver delays no scrape.
//!
//! Source: OTLP 1.7, "OTLP/HTTP": which answers to try again, and `Retry-After`. Sums are cumulative, so of many messages that wait the oldest is the
//! one that is missed least.

use crate::args::otlp::{ENVIRONMENT, OtlpArgs};
use crate::output;
use anyhow::{Context, bail};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use swtch_http::client::{self, Answer, Url};
use swtch_report::otlp::{self, Span};
use swtch_report::prometheus::{Counters, Gauges, OtlpExports};

/// Messages that wait at most.
const QUEUE: usize = 8;
/// Time for a message and its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The same for those that are left when swtch ends, all together.
const FAREWELL: Duration = Duration::from_secs(2);
/// Before the first new try; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Between two tries at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A receiver that asks for longer is asked after this all the same.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// The sending side: what is to be sent, when, and what became of it.
#[derive(Debug)]
pub(super) struct Exporter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    resource: Vec<(String, String)>,
    interval: Duration,
    sent: Instant,
    begun_ns: u64,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    exports: OtlpExports,
    ended: bool,
}

/// The server that gets the messages.
#[derive(Debug)]
struct Receiver {
    url: Url,
    headers: Vec<(String, String)>,
}

impl Exporter {
    /// Begins, where a receiver is given.
    pub(super) fn begin(args: &OtlpArgs) -> anyhow::Result<Option<Self>> {
        let Some(given) = &args.otlp else { return Ok(None) };
        let receiver = receiver(given, args)?;
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("swtch-otlp".to_owned())
            .spawn(move || send(&receiver, &other))
            .context("cannot start a thread for --otlp")?;
        Ok(Some(Self {
            shared,
            thread: Some(thread),
            resource: resource(args, given == ENVIRONMENT),
            interval: args.otlp_interval,
            sent: Instant::now(),
            begun_ns: now_ns(),
        }))
    }

    /// Whether it is time for a message.
    pub(super) fn is_due(&self) -> bool {
        self.sent.elapsed() >= self.interval
    }

    /// Hands over what was counted; returns what became of the earlier ones.
    pub(super) fn push(&mut self, counters: &Counters, gauges: &Gauges) -> OtlpExports {
        self.sent = Instant::now();
        let span = Span { start_ns: self.begun_ns, end_ns: now_ns() };
        let message = otlp::request(counters, gauges, &self.resource, span);
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.waiting.len() >= QUEUE {
            state.waiting.pop_front();
            state.exports.dropped += 1;
        }
        state.waiting.push_back(message);
        self.shared.changed.notify_one();
        state.exports
    }

    /// Tries what is left once more.
    pub(super) fn end(mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It prints what went wrong.
            let _ = thread.join();
        }
    }
}

/// The thread: sends what waits, one after the other, until the end.
fn send(receiver: &Receiver, shared: &Shared) {
    let lock = || shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pause = FIRST_PAUSE;
    let mut complained = false;
    let mut last_until = None;
    loop {
        let mut state = lock();
        while state.waiting.is_empty() && !state.ended {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(message) = state.waiting.pop_front() else { return };
        let ended = state.ended;
        drop(state);
        let timeout = if ended {
            let until = *last_until.get_or_insert_with(|| Instant::now() + FAREWELL);
            until.saturating_duration_since(Instant::now())
        } else {
            TIMEOUT
        };
        let outcome = outcome(client::post(&receiver.url, &receiver.headers, &message, timeout));
        let mut state = lock();
        match outcome {
            Outcome::Received(rejected, why) => {
                state.exports.sent += 1;
                state.exports.rejected_points += rejected;
                if rejected > 0 && !complained {
                    complain(&format!("{} did not take {rejected} figures: {why}", receiver.url));
                }
                complained = rejected > 0;
                pause = FIRST_PAUSE;
            }
            Outcome::Refused(why) => {
                state.exports.refused += 1;
                if !std::mem::replace(&mut complained, true) {
                    complain(&format!("{} refused the metrics: {why}", receiver.url));
                }
            }
            Outcome::Later(why, asked) => {
                if !std::mem::replace(&mut complained, true) {
                    complain(&format!(
                        "cannot send metrics to {}: {why}; the last {QUEUE} messages are kept and tried again",
                        receiver.url
                    ));
                }
                if state.ended || state.waiting.len() >= QUEUE {
                    state.exports.dropped += 1;
                } else {
                    state.waiting.push_front(message);
                }
                let wait = asked.map_or(pause, |asked| asked.min(LONGEST_ASKED));
                pause = (2 * pause).min(LONGEST_PAUSE);
                let until = Instant::now() + wait;
                while !state.ended && Instant::now() < until {
                    let left = until.saturating_duration_since(Instant::now());
                    let woken = shared.changed.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

fn complain(sentence: &str) {
    output::complain_text(&format!("swtch: {sentence}"));
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It was received; how many figures were not taken, and why.
    Received(u64, String),
    /// It is not wanted, and will not be.
    Refused(String),
    /// It may be wanted later: why not now, and after which time.
    Later(String, Option<Duration>),
}

fn outcome(answer: std::io::Result<Answer>) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Outcome::Later(format!("{error}; does a collector listen there?"), None),
    };
    match answer.status {
        200..=299 => {
            let partial = otlp::partial_success(&answer.body).unwrap_or_default();
            Outcome::Received(partial.rejected_points, partial.why)
        }
        429 | 502 | 503 | 504 => Outcome::Later(format!("status {}", answer.status), answer.retry_after),
        404 => Outcome::Refused("status 404; the path of OTLP's metrics is /v1/metrics".to_owned()),
        401 | 403 => Outcome::Refused(format!("status {}; --otlp-header gives it a token", answer.status)),
        status => Outcome::Refused(format!("status {status}")),
    }
}

fn receiver(given: &str, args: &OtlpArgs) -> anyhow::Result<Receiver> {
    let mut headers = vec![("Content-Type".to_owned(), "application/x-protobuf".to_owned())];
    let mut text = given.to_owned();
    if given == ENVIRONMENT {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let all = || {
            set("OTEL_EXPORTER_OTLP_ENDPOINT").map(|url| format!("{}/v1/metrics", url.trim_end_matches('/')))
        };
        text = set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").or_else(all).context(
            "--otlp env: neither OTEL_EXPORTER_OTLP_METRICS_ENDPOINT nor OTEL_EXPORTER_OTLP_ENDPOINT is set; \
             set one to a collector, such as http://127.0.0.1:4318",
        )?;
        for name in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"] {
            headers.extend(pairs(&set(name).unwrap_or_default()));
        }
    }
    headers.extend(args.otlp_header.iter().cloned());
    if text.starts_with("https://") {
        bail!(
            "--otlp {text}: https is not spoken; send to a collector on this machine, such as http://127.0.0.1:4318, that forwards it"
        );
    }
    let Some(url) = Url::parse(&text) else {
        bail!(
            "--otlp {text}: not an address of the form http://HOST:PORT/PATH; a collector listens at http://127.0.0.1:4318"
        );
    };
    Ok(Receiver { url: url.or_path("/v1/metrics"), headers })
}

/// Attributes of this machine, by the conventions; those that are given last win.
fn resource(args: &OtlpArgs, of_environment: bool) -> Vec<(String, String)> {
    let system = rustix::system::uname();
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let known = [
        ("service.name", Some("swtch".to_owned())),
        ("service.version", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("host.name", Some(system.nodename().to_string_lossy().into_owned())),
        ("host.id", std::fs::read_to_string("/etc/machine-id").ok().map(|id| id.trim().to_owned())),
        ("host.arch", Some(arch.to_owned())),
        ("os.type", Some("linux".to_owned())),
        ("os.version", Some(system.release().to_string_lossy().into_owned())),
    ];
    let mut found: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| {
        found.retain(|(known, _)| known != name);
        found.push((name.to_owned(), value));
    };
    for (name, value) in known {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            set(name, value);
        }
    }
    if of_environment {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        for (name, value) in pairs(&variable("OTEL_RESOURCE_ATTRIBUTES")) {
            set(&name, value);
        }
        let name = variable("OTEL_SERVICE_NAME");
        if !name.is_empty() {
            set("service.name", name);
        }
    }
    for (name, value) in &args.otlp_attribute {
        set(name, value.clone());
    }
    found
}

/// `a=b,c=d` with values as in URLs, as the variables have it. Anything else is left out.
fn pairs(text: &str) -> Vec<(String, String)> {
    let found = text.split(',').filter_map(|pair| pair.split_once('='));
    found.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim()))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let hex = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(hex.unwrap_or(*first));
        rest = if hex.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Name of a process's program, while it is there.
pub(super) fn program(pid: u32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = Path::new(&path).file_name()?.to_string_lossy().into_owned();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_the_environment_are_decoded() {
        let found = pairs("a=b, api-key = s%20e%3Dc , broken, d=50%");
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found, [of("a", "b"), of("api-key", "s e=c"), of("d", "50%")]);
    }

    #[test]
    fn answers_are_final_or_tried_again() {
        let answer =
            |status| Ok(Answer { status, retry_after: Some(Duration::from_secs(7)), body: Vec::new() });
        assert_eq!(outcome(answer(200)), Outcome::Received(0, String::new()));
        assert!(matches!(outcome(answer(503)), Outcome::Later(_, Some(after)) if after.as_secs() == 7));
        assert!(matches!(outcome(answer(400)), Outcome::Refused(_)));
        assert!(matches!(outcome(answer(404)), Outcome::Refused(why) if why.contains("/v1/metrics")));
        assert!(matches!(outcome(Err(std::io::ErrorKind::TimedOut.into())), Outcome::Later(_, None)));
    }
}
