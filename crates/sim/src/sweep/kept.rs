//! Runs that are done, in a file next to the table, from which a sweep that was killed continues.

use super::error::{SweepError, file_error};
use super::rows::RunRow;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file `OUT.runs`: the sweep's identity on the first line, then a run a line, in the order in which they were done.
pub(super) struct Kept {
    path: PathBuf,
    file: File,
    done: BTreeSet<u64>,
}

impl Kept {
    /// Opens the file that an earlier command left, or begins one. A run whose line was cut off is run again.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is of another sweep.
    pub(super) fn open(out: &Path, identity: &str) -> Result<Self, SweepError> {
        let mut path = out.as_os_str().to_owned();
        path.push(".runs");
        let path = PathBuf::from(path);
        let why = || file_error(format!("cannot write {}", path.display()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = file.map_err(why())?;
        let mut done = BTreeSet::new();
        let whole = whole_lines(&file, identity, &mut done).map_err(why())?;
        let Some(whole) = whole else {
            return Err(SweepError::Wrong(format!(
                "{} has runs of another sweep: the sweep, its part, or a file it names has changed; delete it or choose another place for the table",
                path.display()
            )));
        };
        file.set_len(whole).map_err(why())?;
        file.seek(SeekFrom::End(0)).map_err(why())?;
        if whole == 0 {
            file.write_all(format!("{identity}\n").as_bytes()).map_err(why())?;
        }
        Ok(Self { path, file, done })
    }

    pub(super) fn has(&self, run: u64) -> bool {
        self.done.contains(&run)
    }

    pub(super) fn len(&self) -> usize {
        self.done.len()
    }

    /// Keeps a run.
    pub(super) fn add(&mut self, row: &RunRow, out: &Path) -> Result<(), SweepError> {
        // One call writes the line: a command that is killed leaves a whole line, or one without an end.
        let why =
            || file_error(format!("cannot keep a run for {}; what was done before is kept", out.display()));
        let mut line = serde_json::to_string(row).map_err(io::Error::other).map_err(why())?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(why())?;
        self.done.insert(row.run);
        Ok(())
    }

    /// All that were kept, by their numbers.
    pub(super) fn rows(&mut self) -> Result<Vec<RunRow>, SweepError> {
        let why = || file_error(format!("cannot read {}", self.path.display()));
        self.file.seek(SeekFrom::Start(0)).map_err(why())?;
        let mut rows = Vec::with_capacity(self.done.len());
        for line in BufReader::new(&self.file).lines().skip(1) {
            let line = line.map_err(why())?;
            rows.push(serde_json::from_str::<RunRow>(&line).map_err(io::Error::other).map_err(why())?);
        }
        rows.sort_by_key(|row| row.run);
        Ok(rows)
    }

    /// The table is there: the runs need not be kept any longer.
    pub(super) fn remove(self) {
        // A file that cannot be removed does no harm: it is of the same sweep.
        let _ = std::fs::remove_file(self.path);
    }
}

/// Length of the whole lines, and the runs in them; nothing when another sweep wrote them.
fn whole_lines(file: &File, identity: &str, done: &mut BTreeSet<u64>) -> io::Result<Option<u64>> {
    let mut reader = BufReader::new(file);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut whole = line.len() as u64;
    match line.strip_suffix('\n') {
        Some(first) if first == identity => {}
        // Killed before the first line was there.
        None if identity.starts_with(&line) => return Ok(Some(0)),
        _ => return Ok(None),
    }
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some(row) = line.strip_suffix('\n').and_then(|row| serde_json::from_str::<RunRow>(row).ok())
        else {
            return Ok(Some(whole));
        };
        whole += line.len() as u64;
        done.insert(row.run);
    }
}
