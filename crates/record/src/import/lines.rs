//! Lines of a text, in bounded memory.

use super::error::ImportError;
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// Longest line that is read, in bytes. Those of scheduler events have some two hundred.
const MOST_BYTES: u64 = 64 << 10;
/// This many bytes show what a file is.
const MAGIC_BYTES: u64 = 16;

/// The lines of a text, one by one.
pub(super) struct Lines<R> {
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    line: Vec<u8>,
    path: PathBuf,
}

impl<R: Read> Lines<R> {
    /// Reads the first bytes, to distinguish a recording from its text.
    pub(super) fn begin(mut input: R, path: &Path) -> Result<Self, ImportError> {
        let mut start = Vec::new();
        let read = input.by_ref().take(MAGIC_BYTES).read_to_end(&mut start);
        read.map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
        if let Some((what, command)) = binary(&start, path) {
            return Err(ImportError::Binary { path: path.to_owned(), what, command });
        }
        let input = BufReader::with_capacity(1 << 16, Cursor::new(start).chain(input));
        Ok(Self { input, line: Vec::new(), path: path.to_owned() })
    }

    /// The next line; `Some(None)` for one that is too long, `None` after the last.
    #[allow(clippy::option_option)]
    pub(super) fn next_line(&mut self) -> Result<Option<Option<Cow<'_, str>>>, ImportError> {
        self.line.clear();
        let whole = read(&mut self.input, &mut self.line)
            .map_err(|source| ImportError::Read { path: self.path.clone(), source })?;
        if self.line.is_empty() {
            return Ok(None);
        }
        Ok(Some(whole.then(|| String::from_utf8_lossy(&self.line))))
    }
}

/// Reads a line with its end; false when it was too long, and its rest was passed over.
fn read(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    input.by_ref().take(MOST_BYTES).read_until(b'\n', line)?;
    if line.len() < MOST_BYTES as usize || line.ends_with(b"\n") {
        return Ok(true);
    }
    input.skip_until(b'\n')?;
    Ok(false)
}

/// What a file is that begins like this, and what makes text of it.
fn binary(start: &[u8], path: &Path) -> Option<(&'static str, String)> {
    // `-` is standard input: the recording then has no name here.
    let file = if path == Path::new("-") { Path::new("FILE").display() } else { path.display() };
    // tools/perf/util/header.c (v6.18) and trace-cmd.dat(5).
    let perf: [&[u8]; 3] = [b"PERFILE2", b"2ELIFREP", b"PERFFILE"];
    if perf.iter().any(|magic| start.starts_with(magic)) {
        return Some(("a recording of perf", format!("perf script -i {file} > TEXT")));
    }
    if start.starts_with(b"\x17\x08Dtracing") {
        return Some(("a recording of trace-cmd", format!("trace-cmd report -i {file} > TEXT")));
    }
    if start.starts_with(&[0x1f, 0x8b]) {
        return Some(("packed", format!("zcat {file} > TEXT")));
    }
    None
}
