//! A running `swtch serve`, and what it says.

use crate::common::{fixture, home, swtch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A home with a Profile to price with.
pub fn priced() -> crate::common::Home {
    let home = home();
    fs::create_dir(home.path().join("swtch")).unwrap();
    fs::copy(fixture("profiles/vm.json"), home.path().join("swtch/profile.json")).unwrap();
    home
}

/// It runs until this is dropped.
pub struct Serving {
    child: Child,
    lines: Receiver<String>,
    pub address: SocketAddr,
}

impl Serving {
    pub fn start(home: &Path, arguments: &[&str]) -> Self {
        Self::start_at(home, "127.0.0.1:0", arguments)
    }

    pub fn start_at(home: &Path, listen: &str, arguments: &[&str]) -> Self {
        Self::start_by(swtch(home), listen, arguments)
    }

    /// As the user whom the command runs the program as.
    pub fn start_by(mut program: Command, listen: &str, arguments: &[&str]) -> Self {
        let mut child = program
            .args(["serve", "--json", "--listen", listen])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            let _ = child.kill();
            let mut complaints = String::new();
            let _ = child.stderr.as_mut().unwrap().read_to_string(&mut complaints);
            panic!("{error}: '{line}' {complaints}")
        });
        assert_eq!(said["schema"], "swtch/serve/1");
        let url = said["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines, address: address.parse().unwrap() }
    }

    /// The samples of a scrape, by name and labels.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let answer = request(self.address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer}"));
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        samples(body)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of its standard output, once it comes.
    pub fn next(&self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(120)).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"))
    }

    pub fn signal(&self, signal: &str) {
        let order = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &order]).status().unwrap().success());
    }

    /// Sends a signal; the status it ends with.
    pub fn end(&mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }

    /// What it wrote to standard error.
    pub fn complaints(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.as_mut().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and gives all that comes back.
pub fn request(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Reads OpenMetrics text and checks its form. Every sample belongs to the family that was described last, and no series comes twice. Names
/// end as their kind asks, and the end is marked.
pub fn samples(text: &str) -> BTreeMap<String, f64> {
    let body = text.strip_suffix("# EOF\n").unwrap_or_else(|| panic!("no end: {text}"));
    let mut found = BTreeMap::new();
    let (mut family, mut kind) = (String::new(), String::new());
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (what, name, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            match what {
                "HELP" => {
                    assert!(!value.is_empty());
                    name.clone_into(&mut family);
                }
                "TYPE" => value.clone_into(&mut kind),
                "UNIT" => assert!(family.ends_with(&format!("_{value}")), "{line}"),
                _ => panic!("{line}"),
            }
            assert_eq!(name, family, "{line}");
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let ending = name.strip_prefix(&family).unwrap_or_else(|| panic!("'{line}' stands under {family}"));
        let endings: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => panic!("{kind}"),
        };
        assert!(endings.contains(&ending), "'{line}' is not of the kind {kind}");
        let earlier = found.insert(series.to_owned(), value.parse::<f64>().unwrap());
        assert_eq!(earlier, None, "'{series}' stands twice");
    }
    found
}

/// All values under a name, anywhere in a document.
pub fn values<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    match document {
        Value::Object(entries) => {
            let below = entries.values().flat_map(|value| values(value, name));
            entries.get(name).into_iter().chain(below).collect()
        }
        Value::Array(items) => items.iter().flat_map(|value| values(value, name)).collect(),
        _ => Vec::new(),
    }
}

/// The metrics that a query in PromQL asks for, with the labels that it names of each. These are the labels in its braces, and those of the
/// groupings `by` around it. Such a grouping holds for every metric of the query that is not in braces of its own.
pub fn selectors(query: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut grouped: Vec<String> = Vec::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = |text: &str| -> Vec<String> {
        text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    };
    let (mut rest, mut depth) = (query, 0_i32);
    while let Some(c) = rest.chars().next() {
        if c == '(' || c == ')' {
            depth += if c == '(' { 1 } else { -1 };
            assert!(depth >= 0, "{query}");
        }
        if !is_word(c) {
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if word == "by" {
            let (inside, after) = rest.trim_start().strip_prefix('(').unwrap().split_once(')').unwrap();
            grouped.extend(words(inside));
            rest = after;
        } else if word.starts_with("swtch_") {
            let mut labels = Vec::new();
            if let Some(braced) = rest.strip_prefix('{') {
                let (inside, after) = braced.split_once('}').unwrap_or_else(|| panic!("{query}"));
                for matcher in words(inside) {
                    let (label, value) = matcher.split_once(['=', '!']).unwrap_or_else(|| panic!("{query}"));
                    let value = value.trim_start_matches(['=', '~']);
                    assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'), "{query}");
                    labels.push(label.to_owned());
                }
                rest = after;
            }
            found.push((word.to_owned(), labels));
        }
    }
    assert_eq!(depth, 0, "{query}");
    // Of a label list after a variable, as in label_values(metric, label), the last word is a label too.
    if let Some(inside) = query.strip_prefix("label_values(").and_then(|text| text.strip_suffix(')')) {
        grouped.extend(inside.rsplit(',').next().map(|label| label.trim().to_owned()));
    }
    for (_, labels) in &mut found {
        labels.extend(grouped.iter().cloned());
    }
    found
}
