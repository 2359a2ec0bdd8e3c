//! Sweeps of commands: each run is a program of its own, such as a study of `swtch sched bench`, and its figures are what it prints.
//!
//! This module reads a sweep and fills in its words; the caller starts the programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a run takes where the sweep does not say.
const EXPECTED_NS: u64 = 60_000_000_000;

/// The command of a sweep, and what is taken from what it prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Commands {
    /// Its words, with `{name}` where a value stands.
    words: Vec<String>,
    /// Files beside the sweep that the command finds in its directory.
    files: Vec<String>,
    /// About how long a run takes.
    expected_ns: u64,
    /// Figures by name, each a JSON pointer into what the command prints; all of it where there are none.
    take: BTreeMap<String, String>,
    /// The values of each of the sweep's workloads, by name.
    #[serde(skip)]
    values: Vec<Values>,
}

/// Values by the names that stand for them in a command.
pub(super) type Values = BTreeMap<String, String>;

/// As a sweep writes it: a text that is split at blanks, or words.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Text(String),
    Words(Vec<String>),
}

/// The keys of a sweep's file that only commands have.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) files: Vec<String>,
    pub(super) expected_ns: Option<u64>,
    pub(super) take: BTreeMap<String, String>,
}

impl Keys {
    /// That there are none.
    pub(super) fn refuse(&self) -> Result<(), String> {
        let given = [
            ("files", !self.files.is_empty()),
            ("expected", self.expected_ns.is_some()),
            ("take", !self.take.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((key, _)) => {
                Err(format!("{key} is for a sweep with a command; remove it, or name the command"))
            }
        }
    }
}

impl Commands {
    /// From the keys of a file. `values`: those of each workload. `given`: which of machine and policy the file has lists of; it always has seeds.
    ///
    /// # Errors
    /// When the command names a value that is not there, or does not name one that is: then runs would be alike.
    pub(super) fn new(
        written: Written,
        keys: Keys,
        values: Vec<Values>,
        given: &[&str],
    ) -> Result<Self, String> {
        let words: Vec<String> = match written {
            Written::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
            Written::Words(words) => words,
        };
        if words.is_empty() {
            return Err("command is empty; expected a program and its arguments".to_owned());
        }
        let named: BTreeSet<&str> = words.iter().flat_map(|word| placeholders(word)).collect();
        for own in &values {
            let there = |name: &str| name == "seed" || given.contains(&name) || own.contains_key(name);
            if let Some(missing) = named.iter().find(|name| !there(name)) {
                return Err(format!(
                    "the command names {{{missing}}}, and nothing gives its value; expected a key of [[grid]], or machines, workloads or policies"
                ));
            }
            let unused = own.keys().map(String::as_str).chain(given.iter().copied());
            if let Some(unused) = unused.filter(|name| *name != "seed").find(|name| !named.contains(name)) {
                return Err(format!(
                    "the command does not name {{{unused}}}, so runs would be alike; name it, or remove its values"
                ));
            }
        }
        if let Some((name, pointer)) = keys.take.iter().find(|(_, pointer)| !pointer.starts_with('/')) {
            return Err(format!(
                "take.{name} is {pointer:?}, expected a place in what the command prints, such as \"/cells/0/median\""
            ));
        }
        let expected_ns = keys.expected_ns.unwrap_or(EXPECTED_NS);
        Ok(Self { words, files: keys.files, expected_ns, take: keys.take, values })
    }

    /// Files beside the sweep that the command finds in its directory.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// About how long a run takes, ns.
    pub fn expected_ns(&self) -> u64 {
        self.expected_ns
    }

    /// The words of a run.
    pub(super) fn words(&self, workload: usize, other: &[(&str, String)]) -> Vec<String> {
        let own = &self.values[workload];
        let value = |name: &str| {
            let other = other.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
            own.get(name).or(other).cloned().unwrap_or_default()
        };
        let filled = self.words.iter().map(|word| {
            placeholders(word)
                .fold(word.clone(), |text, name| text.replace(&format!("{{{name}}}"), &value(name)))
        });
        filled.collect()
    }

    /// The part of a run's output that the sweep keeps, as JSON: the figures that it takes, or all.
    ///
    /// # Errors
    /// When it is not JSON, or a figure is not there; with the reason.
    pub fn taken(&self, printed: &str) -> Result<String, String> {
        let last = printed.trim_end().lines().last().unwrap_or_default();
        // A program may say other things before its document.
        let document: Value = serde_json::from_str(printed)
            .or_else(|_| serde_json::from_str(last))
            .map_err(|_| "it printed no JSON".to_owned())?;
        if self.take.is_empty() {
            return Ok(in_order(document).to_string());
        }
        let mut taken = serde_json::Map::new();
        for (name, pointer) in &self.take {
            let value =
                document.pointer(pointer).ok_or_else(|| format!("it printed nothing at {pointer}"))?;
            taken.insert(name.clone(), in_order(value.clone()));
        }
        Ok(Value::Object(taken).to_string())
    }
}

/// Keys in the order of their names, however this program was built: a row is the same on every machine.
fn in_order(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<String, Value> = map.into_iter().collect();
            sorted.into_iter().map(|(key, value)| (key, in_order(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(in_order).collect(),
        other => other,
    }
}

/// The names in braces: letters, digits and underscores.
fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).filter(is_name)
}

#[cfg(test)]
mod tests {
    use crate::sweep::Sweep;

    const TEXT: &str = "command = \"swtch sched bench --loads {load} --policies {policy} --seed {seed}\"\n\
        policies = [\"rr\", \"flsched\"]\nseeds = [7, 8]\n[[grid]]\nload = [\"pipe\", \"hackbench\"]\n\
        [take]\nmedian = \"/cells/0/median\"\n";

    #[test]
    fn words_are_filled_in_and_a_row_has_what_they_were_filled_with() {
        let sweep = Sweep::read("a.toml", TEXT).unwrap();
        assert_eq!(sweep.runs(), 8);
        assert_eq!(
            sweep.words(3).unwrap().join(" "),
            "swtch sched bench --loads pipe --policies flsched --seed 8"
        );
        let point = sweep.run(7);
        assert_eq!(
            (point.machine, point.workload, point.policy, point.seed),
            ("", "load=hackbench", "flsched", 8)
        );
        let simulated =
            Sweep::read("a.toml", "machines = [2]\npolicies = [\"rr\"]\nworkloads = [\"spin\"]\n");
        assert_eq!(simulated.unwrap().words(0), None);
    }

    #[test]
    fn figures_are_taken_by_their_places_from_the_document_or_the_last_line() {
        let sweep = Sweep::read("a.toml", TEXT).unwrap();
        let commands = sweep.commands().unwrap();
        let taken = |printed: &str| commands.taken(printed);
        assert_eq!(taken("{\"cells\": [\n{\"median\": 3.5}]}").unwrap(), "{\"median\":3.5}");
        assert_eq!(taken("ready\n{\"cells\":[{\"median\":4}]}\n").unwrap(), "{\"median\":4}");
        assert_eq!(taken("ready\n").unwrap_err(), "it printed no JSON");
        assert_eq!(taken("{}").unwrap_err(), "it printed nothing at /cells/0/median");
        let all = Sweep::read("a.toml", TEXT.split_once("[take]").unwrap().0).unwrap();
        assert_eq!(all.commands().unwrap().taken("{\"b\": 1, \"a\": 2}").unwrap(), "{\"a\":2,\"b\":1}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let problem = |text: &str| Sweep::read("a.toml", text).unwrap_err().to_string();
        assert!(problem(&TEXT.replace("{load}", "{lod}")).contains("names {lod}, and nothing gives"));
        assert!(problem(&TEXT.replace("{policy}", "rr")).contains("does not name {policy}"));
        assert!(problem(&TEXT.replace("\"/cells", "\"cells")).contains("take.median is \"cells/0/median\""));
        assert!(problem(&format!("jitter = \"none\"\n{TEXT}")).contains("jitter"));
        let simulated = "machines = [2]\npolicies = [\"rr\"]\nworkloads = [\"spin\"]\nexpected = \"3s\"\n";
        assert!(problem(simulated).contains("expected is for a sweep with a command"));
    }
}
