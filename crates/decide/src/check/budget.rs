//! `swtch-budget.toml`: what commands may cost.

use super::CheckError;
use crate::{Bound, Figure};

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_units::{Bytes, words};
use toml::{Table, Value};

words! {
    /// Where the command of a budget runs.
    pub enum Place("place") {
        /// In a deterministic guest, where instructions and switches are counted.
        Vm = "vm",
        /// On this machine.
        Here = "here",
    }
}

/// The figures that a guest counts.
const COUNTED: [&str; 8] = [
    "switches",
    "voluntary",
    "involuntary",
    "cpu.time",
    "elapsed",
    "instructions",
    "instructions_per_switch",
    "switches_per_request",
];
/// Members of an ensemble, unless the budget says otherwise.
const MEMBERS: usize = 16;
/// Runs on this machine, unless the budget says otherwise.
const RUNS: usize = 9;
/// With fewer, no interval holds the median with 95 %.
const FEWEST_RUNS: usize = 6;
const MOST_RUNS: usize = 1000;
const TIMEOUT: Duration = Duration::from_secs(300);

/// What a command may cost.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Its name, one a file.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub place: Place,
    /// How often it runs: the members of the ensemble of a guest, or runs on this machine.
    pub runs: usize,
    /// CPUs of the guest.
    pub cpus: u32,
    /// Memory of the guest, bytes.
    pub memory_bytes: u64,
    /// Files and directories that the guest needs as well.
    pub copy: Vec<PathBuf>,
    /// The guest's kernel; the newest of Debian's when not given.
    pub kernel: Option<PathBuf>,
    /// Requests that the command serves, for figures of a request.
    pub requests: Option<u64>,
    /// A guest, or a run on this machine, that takes longer is ended.
    pub timeout: Duration,
    /// The figures and what they may be; at least one.
    pub limits: Vec<FigureLimit>,
}

/// What a figure may be. Without a bound it is only shown.
#[derive(Clone, Debug)]
pub struct FigureLimit {
    /// The figure.
    pub figure: Figure,
    /// The largest value, in the figure's unit and as it is written.
    pub max: Option<(Bound, String)>,
    /// The largest change from the baseline.
    pub change: Option<(Bound, String)>,
}

/// Settings of a budget; any other key is a figure.
const SETTINGS: &str = "name, command, where, runs, cpus, memory, copy, kernel, requests, timeout";

/// Reads a file of budgets.
///
/// # Errors
/// When it cannot be read, or a budget in it is incomplete or unclear: the first mistake, with its budget.
pub fn read_budgets(path: &Path) -> Result<Vec<Budget>, CheckError> {
    let text =
        fs::read_to_string(path).map_err(|source| CheckError::NoBudgets { path: path.to_owned(), source })?;
    parse(&text).map_err(|why| CheckError::Budget { path: path.to_owned(), why })
}

fn parse(text: &str) -> Result<Vec<Budget>, String> {
    let mut table: Table = toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(String::new(), |span| {
            format!("line {}: ", text[..span.start.min(text.len())].matches('\n').count() + 1)
        });
        line + &error.message().replace('\n', " ")
    })?;
    let found = table.remove("budget").unwrap_or_else(|| Value::Array(Vec::new()));
    if let Some(key) = table.keys().next() {
        return Err(format!("unknown key '{key}': a file has [[budget]] tables only"));
    }
    let Value::Array(entries) = found else { return Err("write [[budget]], in two brackets".to_owned()) };
    let mut budgets: Vec<Budget> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let Value::Table(entry) = entry else { return Err("write [[budget]], in two brackets".to_owned()) };
        let name = match entry.get("name") {
            Some(Value::String(name)) if is_name(name) => name.clone(),
            Some(_) => {
                return Err(format!(
                    "budget {}: a name has letters, digits, '-', '_' and '.' only",
                    index + 1
                ));
            }
            None => return Err(format!("budget {} has no name; write name = \"pipeline\"", index + 1)),
        };
        if budgets.iter().any(|budget| budget.name == name) {
            return Err(format!("two budgets are called '{name}'; name each once"));
        }
        budgets.push(budget(name.clone(), entry).map_err(|why| format!("budget '{name}': {why}"))?);
    }
    if budgets.is_empty() {
        return Err("it has no [[budget]]".to_owned());
    }
    Ok(budgets)
}

/// A budget's name is part of file names.
fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
}

fn budget(name: String, mut entry: Table) -> Result<Budget, String> {
    entry.remove("name");
    let command = match entry.remove("command") {
        None => return Err("it has no command; write command = \"PROGRAM ARGUMENTS\"".to_owned()),
        Some(Value::String(text)) => split(&text)?,
        Some(Value::Array(words)) => {
            words.into_iter().map(text_of("a word of command")).collect::<Result<_, _>>()?
        }
        Some(_) => return Err("command is a text or a list of words".to_owned()),
    };
    if command.first().is_none_or(String::is_empty) {
        return Err("its command is empty; write command = \"PROGRAM ARGUMENTS\"".to_owned());
    }
    let place = match entry.remove("where") {
        None => Place::Vm,
        Some(value) => {
            let text = text_of("where")(value)?;
            text.parse().map_err(|_| format!("where is 'vm' or 'here', not '{text}'"))?
        }
    };
    let usual = if place == Place::Vm { MEMBERS } else { RUNS };
    let runs = number(&mut entry, "runs")?.map_or(usual, |count| count as usize);
    if !(FEWEST_RUNS..=MOST_RUNS).contains(&runs) {
        return Err(format!(
            "runs = {runs}: an interval of the median needs {FEWEST_RUNS} to {MOST_RUNS} runs"
        ));
    }
    let mut take = |key: &str| entry.remove(key).map(text_of(key)).transpose();
    let memory = take("memory")?.unwrap_or_else(|| "512M".to_owned());
    let timeout = take("timeout")?.map(|text| swtch_units::parse_duration(&text)).transpose();
    let kernel = take("kernel")?.map(PathBuf::from);
    let copy = match entry.remove("copy") {
        None => Vec::new(),
        Some(Value::Array(paths)) => paths
            .into_iter()
            .map(|path| text_of("a path of copy")(path).map(PathBuf::from))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("copy is a list of paths".to_owned()),
    };
    let found = Budget {
        name,
        command: command.into_iter().map(OsString::from).collect(),
        place,
        runs,
        cpus: number(&mut entry, "cpus")?.unwrap_or(1).try_into().map_err(|_| "too many cpus")?,
        memory_bytes: memory.parse::<Bytes>().map_err(|error| format!("memory: {error}"))?.get(),
        copy,
        kernel,
        requests: number(&mut entry, "requests")?,
        timeout: timeout.map_err(|error| format!("timeout: {error}"))?.unwrap_or(TIMEOUT),
        limits: entry.into_iter().map(|(key, value)| limit(&key, value)).collect::<Result<_, _>>()?,
    };
    check(&found)?;
    Ok(found)
}

/// What a budget asks for that cannot be had.
fn check(budget: &Budget) -> Result<(), String> {
    if budget.limits.is_empty() {
        return Err("it has no limit; write, for example, switches = { change = \"+2%\" }".to_owned());
    }
    for limit in &budget.limits {
        let name = limit.figure.to_string();
        if name == "switches_per_request" && budget.requests.is_none() {
            return Err(format!("{name} needs to know the requests of a run; write requests = N"));
        }
        if budget.place == Place::Vm {
            if !COUNTED.contains(&name.as_str()) {
                return Err(format!(
                    "{name} is not counted in a guest, which has {}; write where = \"here\"",
                    COUNTED.join(", ")
                ));
            }
            if budget.cpus != 1 && name.starts_with("instructions") {
                return Err(format!("{name} is counted in guests with one CPU only; write cpus = 1"));
            }
        }
    }
    Ok(())
}

/// `{ max = 1200, change = "+2%" }`, or the largest value alone.
fn limit(key: &str, value: Value) -> Result<FigureLimit, String> {
    let figure: Figure =
        key.parse().map_err(|error| format!("unknown key: {error}; settings are {SETTINGS}"))?;
    let mut bounds = match value {
        Value::Table(bounds) => bounds,
        alone => Table::from_iter([("max".to_owned(), alone)]),
    };
    let mut bound = |name: &str, is_change: bool| -> Result<Option<(Bound, String)>, String> {
        let Some(value) = bounds.remove(name) else { return Ok(None) };
        let text = match value {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => return Err(format!("{key}: {name} is a number or a text")),
        };
        let bound = Bound::read(figure, &text).map_err(|error| format!("{key}: {error}"))?;
        if matches!(bound, Bound::Change(_)) != is_change {
            return Err(format!("{key}: write max = VALUE, or change = \"+2%\""));
        }
        if matches!(bound, Bound::Change(share) if share < 0.0) {
            return Err(format!("{key}: more is worse, so a change is above 0, such as +2%"));
        }
        Ok(Some((bound, text)))
    };
    let (max, change) = (bound("max", false)?, bound("change", true)?);
    match bounds.keys().next() {
        Some(other) => Err(format!("{key}: unknown limit '{other}'; limits are max and change")),
        None => Ok(FigureLimit { figure, max, change }),
    }
}

fn text_of(what: &str) -> impl Fn(Value) -> Result<String, String> {
    let what = what.to_owned();
    move |value| match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("{what} is a text")),
    }
}

fn number(entry: &mut Table, key: &str) -> Result<Option<u64>, String> {
    let wrong = || format!("{key} is a whole number above 0");
    match entry.remove(key) {
        None => Ok(None),
        Some(Value::Integer(number)) => {
            u64::try_from(number).ok().filter(|number| *number > 0).map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// The words of a command line, with quotes and backslashes as in a shell, and nothing else of it.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(letters.next());
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '*') => {
                return Err(format!(
                    "'{letter}' in the command is for a shell; write command = [\"sh\", \"-c\", \"...\"]"
                ));
            }
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote in the command is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Budget {
        pub(crate) fn example() -> Self {
            parse("[[budget]]\nname = \"b\"\ncommand = \"true\"\nswitches = 3\n").unwrap().remove(0)
        }
    }

    #[test]
    fn a_budget_is_read_with_its_defaults() {
        let budgets = parse(
            "[[budget]]\nname = \"pipeline\"\ncommand = \"./bench --once 'two words'\"\nrequests = 400\n\
             switches = { max = 1200, change = \"+2%\" }\ninvoluntary = { max = 20 }\nswitches_per_request = 3.0\n\
             [[budget]]\nname = \"startup\"\ncommand = [\"sh\", \"-c\", \"true; true\"]\nwhere = \"here\"\nbill = { max = \"5%\" }\n",
        )
        .unwrap();
        let [pipeline, startup] = &budgets[..] else { panic!("{budgets:?}") };
        assert_eq!(pipeline.command, ["./bench", "--once", "two words"]);
        assert_eq!((pipeline.place, pipeline.runs, pipeline.cpus), (Place::Vm, MEMBERS, 1));
        let switches = pipeline.limits.iter().find(|limit| limit.figure.to_string() == "switches").unwrap();
        assert_eq!(switches.max.as_ref().unwrap().0, Bound::Value(1200.0));
        assert_eq!(switches.change.as_ref().unwrap().0, Bound::Change(0.02));
        assert_eq!(pipeline.limits.len(), 3);
        assert_eq!((startup.place, startup.runs), (Place::Here, RUNS));
        assert_eq!(startup.limits[0].max.as_ref().unwrap().0, Bound::Value(0.05));
    }

    #[test]
    fn mistakes_are_one_line_with_their_budget() {
        let with = |rest: &str| format!("[[budget]]\nname = \"b\"\n{rest}\n");
        let full = |rest: &str| with(&format!("command = \"true\"\n{rest}"));
        for (text, words) in [
            (String::new(), "it has no [[budget]]"),
            ("[budget]\nname = \"b\"".to_owned(), "two brackets"),
            ("[[budget]]\ncommand = \"true\"".to_owned(), "budget 1 has no name"),
            ("[[budget]\n".to_owned(), "line 1: "),
            ("[[budgets]]\n".to_owned(), "unknown key 'budgets'"),
            (with("switches = 3"), "budget 'b': it has no command"),
            (with("command = \"\""), "its command is empty"),
            (with("command = \"a | b\"\nswitches = 3"), "is for a shell"),
            (with("command = \"a 'b\"\nswitches = 3"), "not closed"),
            (full(""), "it has no limit"),
            (full("swiches = 3"), "'swiches' is not a figure"),
            (full("switches = { most = 3 }"), "unknown limit 'most'"),
            (full("switches = { max = \"+2%\" }"), "write max = VALUE"),
            (full("switches = { max = \"many\" }"), "not a value of switches"),
            (full("bill = 0.5"), "bill"),
            (full("wait.p99 = \"3ms\""), "wait"),
            (full("switches_per_request = 3"), "write requests = N"),
            (full("cpus = 2\ninstructions = {}"), "write cpus = 1"),
            (full("runs = 3\nswitches = 3"), "needs 6 to"),
            (full("where = \"there\"\nswitches = 3"), "'vm' or 'here'"),
            (full("switches = 3") + &full("switches = 4"), "two budgets are called 'b'"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(words) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
