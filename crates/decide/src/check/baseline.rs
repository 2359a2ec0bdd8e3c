//! The baseline: what budgets' commands did when it was accepted, in a small file of the repository.

use super::CheckError;
use super::who::Who;
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use swtch_units::input_error::{self, Document, DocumentKind};

/// The file's name, beside the budgets.
pub const BASELINE_FILE: &str = "swtch-baseline.json";
const SCHEMA: &str = "swtch/baseline/1";

/// What the commands of all budgets did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    /// By the names of the budgets.
    pub budgets: BTreeMap<String, BudgetBaseline>,
}

/// What the command of one budget did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetBaseline {
    /// What else decides the figures, such as the kernel: with another one they say nothing about the program.
    pub made_with: BTreeMap<String, String>,
    /// A digest of everything that the guest got; the same gives the same figures.
    pub inputs: Option<String>,
    /// The values of each figure, one a run, ascending.
    pub figures: BTreeMap<String, Vec<f64>>,
    /// Which tasks made the switches.
    pub who: Vec<Who>,
}

impl Document for Baseline {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: SCHEMA,
        name: "a baseline",
        written_by: "'swtch check --accept'",
        again: "write it again with 'swtch check --accept'",
    };
}

impl Baseline {
    pub(super) fn new(budgets: BTreeMap<String, BudgetBaseline>) -> Self {
        Self { schema: SCHEMA.to_owned(), budgets }
    }

    /// Reads the baseline that `named` is, a file or a commit, or the one beside the budgets. Only that one may be missing: nothing is accepted yet.
    ///
    /// # Errors
    /// When it cannot be read, or is not a baseline.
    pub(super) fn read(named: Option<&str>, beside: &Path) -> Result<Option<Self>, CheckError> {
        match named {
            None if !beside.exists() => Ok(None),
            None => Ok(Some(input_error::read(beside)?)),
            Some(file) if Path::new(file).exists() => Ok(Some(input_error::read(Path::new(file))?)),
            Some(commit) => of_commit(commit, beside).map(Some),
        }
    }

    /// The document as it is kept: names in order, a list of values on one line, so that a review shows what changed.
    pub fn text(&self) -> String {
        let mut bytes = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut bytes, ListsOnLines::default());
        // Writing to memory does not fail, and the document has no key that is not a text.
        let _ = self.serialize(&mut serializer);
        bytes.push(b'\n');
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// The file as it is in a commit.
fn of_commit(commit: &str, beside: &Path) -> Result<Baseline, CheckError> {
    let folder = beside.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |why: String| CheckError::Commit { commit: commit.to_owned(), why };
    if commit.starts_with('-') {
        return Err(failed("that is neither a file nor a commit".to_owned()));
    }
    let object = format!("{commit}:./{BASELINE_FILE}");
    let output = Command::new("git").arg("-C").arg(folder).args(["show", &object]).output();
    let output = output.map_err(|error| failed(format!("git cannot be started: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
        return Err(failed(said));
    }
    Ok(input_error::parse(&output.stdout, &PathBuf::from(object))?)
}

/// Objects on several lines; a list of numbers on one, and each object of a list on one.
#[derive(Default)]
struct ListsOnLines {
    pretty: PrettyFormatter<'static>,
    in_list: bool,
}

impl Formatter for ListsOnLines {
    /// Counts are whole numbers.
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value.fract() == 0.0 && value.abs() < 1e15 {
            write!(writer, "{value:.0}")
        } else {
            write!(writer, "{value}")
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_list = true;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_list = false;
        CompactFormatter.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_list { writer.write_all(b"\n        {") } else { self.pretty.begin_object(writer) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_list { writer.write_all(b"}") } else { self.pretty.end_object(writer) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if self.in_list {
            return writer.write_all(if first { b"" } else { b", " });
        }
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_list { Ok(()) } else { self.pretty.end_object_value(writer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        let who = |task: &str| Who {
            task: task.to_owned(),
            peer: None,
            function: None,
            metric: "voluntary".to_owned(),
            count: 36.25,
        };
        let budget = BudgetBaseline {
            made_with: BTreeMap::from([("kernel".to_owned(), "7.3".to_owned())]),
            inputs: None,
            figures: BTreeMap::from([("switches".to_owned(), vec![1.0, 2.5, 1e300])]),
            who: vec![who("a"), who("b")],
        };
        Baseline::new(BTreeMap::from([("one".to_owned(), budget.clone()), ("two".to_owned(), budget)]))
    }

    #[test]
    fn it_is_read_back_and_a_review_shows_each_list_on_a_line() {
        let text = baseline().text();
        assert_eq!(input_error::parse::<Baseline>(text.as_bytes(), Path::new("b")).unwrap(), baseline());
        assert!(text.contains("\n        \"switches\": [1, 2.5, "), "{text}");
        let who = text.lines().filter(|line| line.trim_start().starts_with("{\"task\": ")).count();
        assert_eq!(who, 4, "{text}");
    }

    #[test]
    fn a_commit_that_is_none_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let beside = folder.path().join(BASELINE_FILE);
        assert_eq!(Baseline::read(None, &beside).unwrap(), None);
        for commit in ["no-such-commit", "--output=x"] {
            let error = Baseline::read(Some(commit), &beside).unwrap_err().to_string();
            assert!(error.contains(commit) && error.contains("--baseline takes"), "{error}");
        }
        std::fs::write(&beside, "{\"schema\": \"swtch/profile/2\"}").unwrap();
        let error = Baseline::read(None, &beside).unwrap_err().to_string();
        assert!(error.contains("swtch/baseline/1"), "{error}");
    }
}
