//! Reads and writes Profile files. A file appears whole or not at all: it is written next to its place and renamed.

use crate::check::check;
use crate::model::{OLDER, Profile, SCHEMA};
use crate::samples::{self, Sample};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use swtch_units::input_error::{self, Document, DocumentKind, ReadError, Refused};

/// Why a Profile could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read, or holds no Profile of this version.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A figure in the file cannot be true.
    #[error("{} is refused: {source}; measure again", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The figures, and what they contradict.
        source: Refused,
    },
    /// The file could not be written; what was there before is still there.
    #[error("cannot write {}: {source}; nothing was changed there", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl FileError {
    /// What the system refused; nothing where the file's contents are wrong.
    pub fn system(&self) -> Option<&io::Error> {
        match self {
            Self::Read(ReadError::Read { source, .. }) | Self::Write { source, .. } => Some(source),
            Self::Read(_) | Self::Refused { .. } => None,
        }
    }
}

impl Document for Profile {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: SCHEMA,
        name: "a Profile",
        written_by: "'swtch measure --out FILE'",
        again: "measure again",
    };
}

/// A Profile of the version before.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Older(Profile);

impl Document for Older {
    const KIND: &'static DocumentKind = &DocumentKind { schema: OLDER, ..*Profile::KIND };
}

/// Where this machine's Profile is kept: `$XDG_STATE_HOME/swtch/profile.json`, by default under `~/.local/state`.
pub fn own_path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("swtch/profile.json"))
}

/// This machine's Profile, where it has one.
///
/// # Errors
/// As [`read`].
pub fn read_own() -> Result<Option<Profile>, FileError> {
    own_path().filter(|path| path.exists()).map(|path| read(&path)).transpose()
}

/// The Profile to price with, and its name for readers: the one that was given, or this machine's if it has one.
///
/// # Errors
/// As [`read`].
pub fn prices(given: Option<&Path>) -> Result<Option<(String, Profile)>, FileError> {
    let Some(path) = given else {
        return Ok(read_own()?.map(|profile| ("this machine’s Profile".to_owned(), profile)));
    };
    Ok(Some((format!("the Profile {}", path.display()), read(path)?)))
}

/// Reads a Profile.
///
/// # Errors
/// When it cannot be read, is not a Profile of this version or of the one before, or has a figure that cannot be true.
pub fn read(path: &Path) -> Result<Profile, FileError> {
    parse(&input_error::contents(path)?, path)
}

/// Reads a Profile from the contents of `path`, which is used in messages only.
///
/// # Errors
/// When the contents are not a Profile of this version or of the one before, or have a figure that cannot be true.
pub fn parse(contents: &[u8], path: &Path) -> Result<Profile, FileError> {
    if input_error::schema(contents).as_deref() != Some(OLDER) {
        return possible(input_error::parse(contents, path)?, path);
    }
    let Older(mut profile) = input_error::parse(contents, path)?;
    SCHEMA.clone_into(&mut profile.schema);
    possible(profile, path)
}

fn possible(profile: Profile, path: &Path) -> Result<Profile, FileError> {
    match check(&profile) {
        Ok(()) => Ok(profile),
        Err(source) => Err(FileError::Refused { path: path.to_owned(), source }),
    }
}

/// Writes `profile` to `path` and its raw samples next to it, as `NAME.samples.parquet`; notes that name in the Profile. The
/// samples come first, so that a Profile never names a file that is not there. A device or a pipe (`/dev/stdout`) gets the Profile only.
///
/// # Errors
/// When the directory cannot be written to, or the disk is full. An older Profile at `path` is then untouched.
pub fn write(profile: &mut Profile, rows: &[Sample], path: &Path) -> Result<(), FileError> {
    write_both(profile, Some(|sink: &mut fs::File| samples::write(rows, sink)), path)
}

/// As [`write()`], from samples that are a table (Parquet) already, or without any.
///
/// # Errors
/// As [`write()`].
pub fn write_table(profile: &mut Profile, table: Option<&[u8]>, path: &Path) -> Result<(), FileError> {
    write_both(profile, table.map(|table| |sink: &mut fs::File| sink.write_all(table)), path)
}

fn write_both(
    profile: &mut Profile,
    write_samples: Option<impl FnOnce(&mut fs::File) -> io::Result<()>>,
    path: &Path,
) -> Result<(), FileError> {
    profile.samples = None;
    if let Some(write_samples) = write_samples.filter(|_| !is_device(path)) {
        let samples_path = path.with_extension("samples.parquet");
        replace(&samples_path, write_samples)?;
        profile.samples = samples_path.file_name().map(|name| name.to_string_lossy().into_owned());
    }
    replace(path, |sink| {
        serde_json::to_writer_pretty(&mut *sink, &profile)?;
        sink.write_all(b"\n")
    })
}

/// Whether a file can be made at `path`, found by creating one next to it: before a measurement, not after.
///
/// # Errors
/// The error that [`write()`] would end with.
pub fn check_writable(path: &Path) -> Result<(), FileError> {
    if is_device(path) {
        return Ok(());
    }
    open_beside(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())).map(drop)
}

/// Writes a file next to its place, flushes it to the disk, then renames it over the old one. A symbolic link stays one, and a
/// device or a pipe is written to as it is. A rename would put a file in its place.
///
/// # Errors
/// When any step fails; the old file is then untouched and nothing is left behind.
pub fn replace(path: &Path, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<(), FileError> {
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    if is_device(path) {
        let mut device = fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
        return write(&mut device).and_then(|()| device.flush()).map_err(fail);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = open_beside(&target)?;
    write(file.as_file_mut()).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    make_readable(file.as_file()).map_err(fail)?;
    file.persist(&target).map(drop).map_err(|error| fail(error.error))
}

/// Whether something that is neither file nor directory is at `path`.
fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn open_beside(path: &Path) -> Result<tempfile::NamedTempFile, FileError> {
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".swtch-").tempfile_in(folder).map_err(fail)
}

/// Temporary files are private; a result is to be read by others too.
fn make_readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests;
