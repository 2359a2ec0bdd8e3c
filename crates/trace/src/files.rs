//! Files within a Trace's directory: their names, the header's reading, and writing whole or not at all.

use crate::error::TraceError;
use crate::fields;
use crate::model::{Header, SCHEMA, SCHEMA_1, SCHEMA_2, Unavailable};
use crate::tables::TABLES;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The header's file name.
pub(crate) const HEADER: &str = "header.json";

/// How temporary files' names begin.
pub(crate) const TEMPORARY: &str = ".swtch-";

/// Larger than any header; keeps a mistaken argument from filling the memory.
const LARGEST_HEADER_BYTES: u64 = 256 << 20;

/// The name of a table's only file, or of one of its segments.
pub(crate) fn table_file(table: &str, segment: Option<u64>) -> String {
    segment.map_or_else(|| format!("{table}.parquet"), |segment| format!("{table}-{segment:06}.parquet"))
}

/// Whether a file of `table` may have this name. A header's names are not trusted: they could lead out of the directory.
pub(crate) fn is_table_file(table: &str, name: &str) -> bool {
    let Some(rest) = name.strip_suffix(".parquet").and_then(|stem| stem.strip_prefix(table)) else {
        return false;
    };
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a file in a Trace's directory is the Trace's own.
pub(crate) fn is_own(name: &str) -> bool {
    name == HEADER || name.starts_with(TEMPORARY) || TABLES.iter().any(|table| is_table_file(table, name))
}

/// Reads the header of the Trace in `directory`.
///
/// # Errors
/// When there is none, or it is not a header of this version.
pub(crate) fn read_header(folder: &Path) -> Result<Header, TraceError> {
    let path = folder.join(HEADER);
    let contents = header_contents(folder)?;
    let damaged = |why: serde_json::Error| TraceError::Damaged { path: path.clone(), why: why.to_string() };
    let found = schema_of(&contents).map_err(damaged)?;
    if ![SCHEMA, SCHEMA_2, SCHEMA_1].contains(&found.as_str()) {
        let advice = if found.starts_with("swtch/trace/") {
            "it was written by another version of swtch"
        } else {
            "a Trace is a directory that 'swtch record' writes"
        };
        return Err(TraceError::Foreign { path, found, advice });
    }
    // From the text again, not from the value: the error then has its line and column.
    serde_json::from_slice(&contents).map(upgraded).map_err(damaged)
}

/// A header of an earlier version as one of this version.
fn upgraded(mut header: Header) -> Header {
    let written_by = std::mem::replace(&mut header.schema, SCHEMA.to_owned());
    if written_by == SCHEMA_1 {
        let (old, new) = ("tasks.displaced", "tasks.cold_switch_ins");
        if let Some(source) = header.sources.remove(old) {
            header.sources.insert(new.to_owned(), source);
        }
        for row in header.unavailable.iter_mut().filter(|row| row.field.as_str() == old) {
            row.field = new.to_owned().into();
        }
    }
    if written_by != SCHEMA && !header.lacks(&fields::WAITS) {
        let reason =
            "an earlier version of swtch recorded it, which did not charge waits to what had the CPU";
        header.unavailable.push(Unavailable::new(fields::WAITS, reason));
    }
    header
}

/// The header's text.
pub(crate) fn header_contents(folder: &Path) -> Result<Vec<u8>, TraceError> {
    let fail = |source| TraceError::Read { path: folder.to_owned(), source };
    let none = |why: &str| TraceError::NotATrace { path: folder.to_owned(), why: why.to_owned() };
    if !fs::metadata(folder).map_err(fail)?.is_dir() {
        return Err(none("it is not a directory"));
    }
    let path = folder.join(HEADER);
    let fail = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => none("it has no header.json"),
        _ => TraceError::Read { path: path.clone(), source },
    };
    let found = fs::metadata(&path).map_err(fail)?;
    if !found.is_file() {
        return Err(none("its header.json is not a file"));
    }
    if found.len() > LARGEST_HEADER_BYTES {
        return Err(none("its header.json is larger than any header"));
    }
    fs::read(&path).map_err(fail)
}

/// The schema that a header's text names, or `none`.
pub(crate) fn schema_of(contents: &[u8]) -> Result<String, serde_json::Error> {
    let value: serde_json::Value = serde_json::from_slice(contents)?;
    // What a stranger's file says is repeated in a message: not its line breaks, and not all of it.
    let clean = |found: &str| found.chars().filter(|sign| !sign.is_control()).take(60).collect();
    Ok(value.get("schema").and_then(serde_json::Value::as_str).map_or("none".to_owned(), clean))
}

/// Writes the header's text.
pub(crate) fn write_header(header: &Header, sink: &mut File) -> io::Result<()> {
    let mut contents = serde_json::to_vec_pretty(header)?;
    contents.push(b'\n');
    sink.write_all(&contents)
}

/// Writes a file next to its place and renames it over the old one. When `durable`, its contents are on the disk before that.
///
/// # Errors
/// When any step fails; the old file is then untouched and nothing is left behind.
pub(crate) fn replace(
    folder: &Path,
    name: &str,
    durable: bool,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), TraceError> {
    let path = folder.join(name);
    let fail = |source| TraceError::Write { path: path.clone(), source };
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder).map_err(fail)?;
    write(file.as_file_mut()).map_err(fail)?;
    // Temporary files are private; a Trace is to be read by others too.
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(fail)?;
    if durable {
        file.as_file().sync_all().map_err(fail)?;
    }
    file.persist(&path).map(drop).map_err(|error| fail(error.error))
}

/// Waits until a file, or a directory's list of files, is on the disk.
pub(crate) fn sync(path: PathBuf) -> Result<(), TraceError> {
    File::open(&path).and_then(|file| file.sync_all()).map_err(|source| TraceError::Write { path, source })
}
