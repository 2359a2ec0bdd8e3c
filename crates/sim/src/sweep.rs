//! Sweeps: all combinations of machines, workloads, policies and seeds, as a file in TOML.
//!
//! ```
//! use swtch_sim::sweep::Sweep;
//!
//! let text = r#"
//! machines = ["2f4s", 8]
//! policies = ["eevdf", "rr"]
//! seeds = [1, 2, 3]
//! workloads = ["spin:tasks=4,work_ns=1ms"]
//!
//! [[grid]]
//! workload = "hackbench"
//! groups = [1, 2]
//! loops = 5
//! "#;
//! let sweep = Sweep::read("example.toml", text)?;
//! assert_eq!(sweep.runs(), 2 * 3 * 2 * 3);
//! assert_eq!(sweep.run(0).workload, "spin:tasks=4,work_ns=1ms");
//! assert_eq!(sweep.run(35).workload, "hackbench:groups=2,loops=5");
//! # Ok::<(), swtch_sim::SimError>(())
//! ```

mod commands;
mod error;
mod kept;
mod prepared;
mod rows;
mod runs;

pub use crate::fingerprint::hash_of;
pub use commands::Commands;
pub use error::SweepError;
pub use prepared::{InputFile, Prepared};
pub use rows::{IDENTITY, RunRow, describe_failure, write_table};
pub use runs::{Request, Swept, sweep};

use crate::error::SimError;
use crate::jitter::Jitter;
use crate::plan::{Overrides, has_extension};
use crate::sweep::commands::{Keys, Values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A sweep that has been read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    machines: Vec<String>,
    workloads: Vec<String>,
    policies: Vec<String>,
    seeds: Vec<u64>,
    duration_ns: Option<u64>,
    limit_ns: Option<u64>,
    jitter: Option<Jitter>,
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<Commands>,
}

/// One of its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point<'a> {
    /// Its number.
    pub run: u64,
    /// The machine by name.
    pub machine: &'a str,
    /// The workload, as on the command line.
    pub workload: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// The seed.
    pub seed: u64,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepDocument {
    #[serde(default)]
    machines: Vec<MachineName>,
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default = "one_seed")]
    seeds: Vec<u64>,
    #[serde(default)]
    workloads: Vec<String>,
    #[serde(default)]
    grid: Vec<BTreeMap<String, toml::Value>>,
    #[serde(default, deserialize_with = "crate::quantity::some_ns")]
    duration: Option<u64>,
    #[serde(default, deserialize_with = "crate::quantity::some_ns")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "crate::spec::jitter")]
    jitter: Option<Jitter>,
    profile: Option<String>,
    command: Option<commands::Written>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default, deserialize_with = "crate::quantity::some_ns")]
    expected: Option<u64>,
    #[serde(default)]
    take: BTreeMap<String, String>,
}

fn one_seed() -> Vec<u64> {
    vec![1]
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MachineName {
    Cpus(u32),
    Name(String),
}

impl SweepDocument {
    fn sweep(self) -> Result<Sweep, String> {
        let is_simulated = self.command.is_none();
        let mut workloads = self.workloads;
        let mut values: Vec<Values> =
            workloads.iter().map(|text| Values::from([("workload".to_owned(), text.clone())])).collect();
        for grid in &self.grid {
            for found in combinations(grid, is_simulated)? {
                workloads.push(in_words(&found));
                values.push(found);
            }
        }
        let machines: Vec<String> = self.machines.into_iter().map(MachineName::text).collect();
        let lists = [("machine", machines.is_empty()), ("policy", self.policies.is_empty())];
        let given: Vec<&str> = lists.iter().filter(|(_, empty)| !empty).map(|(name, _)| *name).collect();
        let keys = Keys { files: self.files, expected_ns: self.expected, take: self.take };
        let commands = match self.command {
            None => keys.refuse().map(|()| None)?,
            Some(written) => {
                let simulated = [
                    ("duration", self.duration.is_some()),
                    ("jitter", self.jitter.is_some()),
                    ("profile", self.profile.is_some()),
                ];
                if let Some((key, _)) = simulated.iter().find(|(_, given)| *given) {
                    return Err(format!(
                        "{key} is for simulations, and this sweep has a command; remove one"
                    ));
                }
                if values.is_empty() {
                    workloads.push(String::new());
                    values.push(Values::new());
                }
                Some(Commands::new(written, keys, values, &given)?)
            }
        };
        // A list that a command does not need is a value that says nothing.
        let or_nothing = |list: Vec<String>| {
            if list.is_empty() && !is_simulated { vec![String::new()] } else { list }
        };
        let sweep = Sweep {
            machines: or_nothing(machines),
            workloads,
            policies: or_nothing(self.policies),
            seeds: self.seeds,
            duration_ns: self.duration,
            limit_ns: self.limit,
            jitter: self.jitter,
            profile: self.profile,
            commands,
        };
        let [machines, workloads, policies, seeds] = sweep.lengths();
        let lengths = [("machines", machines), ("policies", policies), ("seeds", seeds)];
        if let Some((empty, _)) = lengths.into_iter().find(|(_, length)| *length == 0) {
            return Err(format!("{empty} is empty; expected at least one"));
        }
        if workloads == 0 {
            return Err("nothing says what runs; expected workloads = [...], [[grid]] or command".to_owned());
        }
        Ok(sweep)
    }
}

impl MachineName {
    fn text(self) -> String {
        match self {
            Self::Cpus(cpus) => cpus.to_string(),
            Self::Name(name) => name,
        }
    }
}

impl Sweep {
    /// Reads a sweep. `file` is its name, for messages only.
    ///
    /// # Errors
    /// When it is not TOML, has a key that is not known, or one of its lists is empty.
    pub fn read(file: &str, text: &str) -> Result<Self, SimError> {
        let fail = |at: Option<usize>, problem: String| {
            let place = match at {
                Some(at) => super::spec::place(file, text, at),
                None => file.to_owned(),
            };
            SimError::input(place, problem)
        };
        let document: SweepDocument = toml::from_str(text).map_err(|error| {
            let problem = error.message().lines().collect::<Vec<_>>().join(" ");
            fail(error.span().map(|span| span.start), problem)
        })?;
        document.sweep().map_err(|problem| fail(None, problem))
    }

    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.lengths().iter().map(|length| *length as u64).product()
    }

    /// The run of this number, less than [`runs`](Self::runs): machines change slowest, then workloads, policies and seeds.
    pub fn run(&self, run: u64) -> Point<'_> {
        let mut rest = run;
        let mut take = |length: usize| {
            let place = rest % length as u64;
            rest /= length as u64;
            place as usize
        };
        let seed = self.seeds[take(self.seeds.len())];
        let policy = &self.policies[take(self.policies.len())];
        let workload = &self.workloads[take(self.workloads.len())];
        let machine = &self.machines[take(self.machines.len())];
        Point { run, machine, workload, policy, seed }
    }

    /// The numbers of the runs in a part, `part` of `parts` from 1. A part has every `parts`-th run, so that all parts take about as long.
    pub fn part(&self, part: u64, parts: u64) -> impl Iterator<Item = u64> {
        (0..self.runs()).filter(move |run| run % parts.max(1) == part.saturating_sub(1))
    }

    /// The words of a run of a sweep of commands; `None` for one that is simulated.
    pub fn words(&self, run: u64) -> Option<Vec<String>> {
        let commands = self.commands.as_ref()?;
        let point = self.run(run);
        let workload = run / (self.seeds.len() * self.policies.len()) as u64 % self.workloads.len() as u64;
        let other = [
            ("machine", point.machine.to_owned()),
            ("policy", point.policy.to_owned()),
            ("seed", point.seed.to_string()),
        ];
        Some(commands.words(workload as usize, &other))
    }

    /// The command, where runs are not simulated.
    pub fn commands(&self) -> Option<&Commands> {
        self.commands.as_ref()
    }

    /// How long a run may take at most, ns: in the simulated machine, or in this world where it is a command.
    pub fn limit_ns(&self) -> Option<u64> {
        self.limit_ns
    }

    /// The overrides of a run.
    pub fn overrides(&self, point: &Point<'_>) -> Overrides {
        Overrides {
            machine: Some(point.machine.to_owned()),
            policies: vec![point.policy.to_owned()],
            seed: Some(point.seed),
            duration_ns: self.duration_ns,
            limit_ns: self.limit_ns,
            jitter: self.jitter,
            ..Overrides::default()
        }
    }

    /// The workloads that are files of their own, paths as they are in the file.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let is_file = |text: &&str| has_extension(text, "toml") || has_extension(text, "json");
        self.workloads.iter().map(String::as_str).filter(is_file)
    }

    /// How many machines, workloads, policies and seeds there are, in this order.
    pub fn lengths(&self) -> [usize; 4] {
        [self.machines.len(), self.workloads.len(), self.policies.len(), self.seeds.len()]
    }

    /// The machines by name.
    pub fn machines(&self) -> impl Iterator<Item = &str> {
        self.machines.iter().map(String::as_str)
    }

    /// The policies.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.policies.iter().map(String::as_str)
    }

    /// The Profile that gives the costs, a path as it is in the file.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }
}

/// `[[grid]]`: parameters with one value or a list of them, and the workload that they are of.
fn combinations(grid: &BTreeMap<String, toml::Value>, is_simulated: bool) -> Result<Vec<Values>, String> {
    let name = match grid.get("workload") {
        Some(toml::Value::String(name)) => name,
        Some(_) => return Err("the workload of a grid is not its name".to_owned()),
        None if is_simulated => return Err("a grid has no workload; expected its name".to_owned()),
        None => "commands",
    };
    let mut all = vec![Values::new()];
    for (key, value) in grid {
        let values = match value {
            toml::Value::Array(values) => values.clone(),
            one => vec![one.clone()],
        };
        if values.is_empty() {
            return Err(format!("{key} of the grid of {name} is empty; expected at least one value"));
        }
        let mut more = Vec::new();
        for before in &all {
            for value in &values {
                let value = match value {
                    toml::Value::String(text) => text.clone(),
                    toml::Value::Integer(number) => number.to_string(),
                    // With a point, also where it is whole: TOML tells the two apart.
                    toml::Value::Float(number) => format!("{number:?}"),
                    toml::Value::Boolean(truth) => truth.to_string(),
                    _ => {
                        let expected =
                            "expected text, a number, true or false; lists go into workloads = [...]";
                        return Err(format!("{key} of the grid of {name} is something else; {expected}"));
                    }
                };
                let mut one = before.clone();
                one.insert(key.clone(), value);
                more.push(one);
            }
        }
        all = more;
    }
    Ok(all)
}

/// A workload with its parameters, as on the command line.
fn in_words(values: &Values) -> String {
    let parameters = values.iter().filter(|(key, _)| *key != "workload");
    let parameters: Vec<String> = parameters.map(|(key, value)| format!("{key}={value}")).collect();
    match (values.get("workload"), parameters.is_empty()) {
        (Some(workload), true) => workload.clone(),
        (Some(workload), false) => format!("{workload}:{}", parameters.join(",")),
        (None, _) => parameters.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "machines = [1, \"2f4s\"]\npolicies = [\"rr\"]\nseeds = [7, 8, 9]\nworkloads = [\"spin\"]\n";

    #[test]
    fn parts_have_every_run_once() {
        let sweep = Sweep::read("a.toml", TEXT).unwrap();
        assert_eq!(sweep.runs(), 6);
        let mut all: Vec<u64> = (1..=4).flat_map(|part| sweep.part(part, 4)).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        let points: Vec<_> =
            (0..6).map(|run| (sweep.run(run).machine.to_owned(), sweep.run(run).seed)).collect();
        assert_eq!(points[0], ("1".to_owned(), 7));
        assert_eq!(points[5], ("2f4s".to_owned(), 9));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        let problem = |text: &str| Sweep::read("a.toml", text).unwrap_err().to_string();
        assert!(problem(&TEXT.replace("seeds = [7, 8, 9]", "seeds = []")).contains("seeds is empty"));
        assert!(problem(&format!("{TEXT}loops = 3\n")).starts_with("a.toml:5:1: unknown field `loops`"));
        assert!(problem(&TEXT.replace("workloads = [\"spin\"]", "")).contains("nothing says what runs"));
        assert!(problem(&format!("{TEXT}[[grid]]\nloops = 3\n")).contains("has no workload"));
    }
}
