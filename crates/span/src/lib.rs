//! Marks pieces of a program's work, such as requests, for `swtch why`.
//!
//! ```
//! # fn answer() {}
//! let order = 4711;
//! let _span = swtch_span::span("checkout").id(order); // until the block ends
//! answer();
//! ```
//!
//! Spans are recorded where the environment variable `SWTCH_SPANS` names a file when the first one begins: `swtch record -- COMMAND` sets
//! it. Without it a span costs a comparison. With it, spans are kept in memory. They are appended to the file when 32 KiB are full, when
//! another span ends a second later, and when a thread with spans ends. The format is the `spans` event of `docs/workload-contract.md`.
//!
//! `include/swtch_span.h` is the same for C and C++.
#![forbid(unsafe_code)]

use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The environment variable with the path of the file that spans are appended to.
pub const FILE_VARIABLE: &str = "SWTCH_SPANS";
/// Spans are written when they have this many bytes,
const FULL_BYTES: usize = 1 << 15;
/// or when the oldest one ended so long ago and another one ends.
const FLUSH_NS: u64 = 1_000_000_000;

static FILE: LazyLock<Option<OsString>> =
    LazyLock::new(|| std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()));
static KEPT: Mutex<Kept> = Mutex::new(Kept { text: String::new(), pid: 0, oldest_ns: 0, failed: false });

thread_local! {
    static AT_END: FlushAtEnd = const { FlushAtEnd };
}

/// Begins a span, which ends when it is dropped. Spans of one name are compared with each other. A span belongs to the thread that ends it.
#[inline]
#[must_use = "a span ends when it is dropped: keep it in a variable"]
pub fn span(name: &str) -> Span<'_> {
    let begin_ns = if FILE.is_some() { now_ns() } else { 0 };
    Span { name, id: None, begin_ns }
}

/// A span that has begun.
#[derive(Debug)]
pub struct Span<'a> {
    name: &'a str,
    id: Option<String>,
    /// 0 where spans are not recorded.
    begin_ns: u64,
}

impl Span<'_> {
    /// Says which one it is, such as a request's number.
    #[inline]
    #[must_use = "a span ends when it is dropped: keep it in a variable"]
    pub fn id(mut self, id: impl Display) -> Self {
        if self.begin_ns > 0 {
            self.id = Some(id.to_string());
        }
        self
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.begin_ns > 0 {
            keep(self, now_ns());
        }
    }
}

/// Writes the spans that are kept. A program that ends while its first thread still runs (`abort`, a signal) loses what it did not write.
pub fn flush() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).flush();
}

struct Kept {
    text: String,
    /// The process whose spans these are.
    pid: u32,
    oldest_ns: u64,
    failed: bool,
}

impl Kept {
    /// One write, to a file that is opened to append: lines of several programs stay whole.
    fn flush(&mut self) {
        if let Some(path) = FILE.as_ref().filter(|_| self.pid == std::process::id() && !self.text.is_empty())
        {
            let written: io::Result<()> = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .and_then(|mut file| file.write_all(self.text.as_bytes()));
            // A full disk must not end the program whose work is measured.
            self.failed |= written.is_err();
        }
        self.text.clear();
    }
}

struct FlushAtEnd;

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        flush();
    }
}

#[cold]
fn keep(span: &Span<'_>, end_ns: u64) {
    // Its destructor is run only where it was used.
    let _ = AT_END.try_with(|_| {});
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.failed {
        return;
    }
    let pid = std::process::id();
    if kept.pid != pid {
        // What the parent kept is the parent's to write.
        kept.text.clear();
        kept.pid = pid;
    }
    if kept.text.is_empty() {
        kept.oldest_ns = end_ns;
    }
    let (name, tid, begin_ns) = (escaped(span.name), gettid().as_raw_nonzero(), span.begin_ns);
    let text = &mut kept.text;
    // A String takes everything.
    let _ = write!(
        text,
        r#"{{"event":"spans","name":"{name}","pid":{pid},"tid":{tid},"begin_ns":[{begin_ns}],"end_ns":[{end_ns}]"#
    );
    if let Some(id) = &span.id {
        let _ = write!(text, r#","id":["{}"]"#, escaped(id));
    }
    text.push_str("}\n");
    if text.len() >= FULL_BYTES || end_ns.saturating_sub(kept.oldest_ns) >= FLUSH_NS {
        kept.flush();
    }
}

/// A text as in JSON.
fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(|sign| sign >= ' ' && sign != '"' && sign != '\\') {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        match sign {
            '"' | '\\' => escaped.extend(['\\', sign]),
            sign if sign < ' ' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(sign));
            }
            sign => escaped.push(sign),
        }
    }
    Cow::Owned(escaped)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
