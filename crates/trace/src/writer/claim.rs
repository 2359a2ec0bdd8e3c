//! Takes the place where a Trace is to be.

use crate::error::TraceError;
use crate::files;
use crate::model::Header;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where a Trace is to be.
#[derive(Debug)]
pub(super) struct TracePath {
    /// As it was asked for; for messages.
    asked: PathBuf,
    /// The place itself.
    target: PathBuf,
    /// Whether an older Trace is there.
    replaces: bool,
}

/// Puts a directory with only a header at `directory`. The new directory is made next to its place and renamed, so the Trace there never
/// lacks a header. An older Trace is moved away just before and deleted just after.
pub(super) fn claim(folder: &Path, header: &Header) -> Result<PathBuf, TraceError> {
    let (place, new) = beside(folder, header)?;
    place.take(new)
}

/// Makes a directory with only a header next to the place where a Trace is to be.
pub(super) fn beside(folder: &Path, header: &Header) -> Result<(TracePath, TempDir), TraceError> {
    let fail = |source| TraceError::Create { path: folder.to_owned(), source };
    let target = resolve(folder).map_err(fail)?;
    let replaces = match fs::metadata(&target) {
        Ok(_) => check_is_trace(&target, folder).map(|()| true)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(fail(error)),
    };
    let place = TracePath { asked: folder.to_owned(), target, replaces };
    let new = place.beside()?;
    files::replace(new.path(), files::HEADER, false, |sink| files::write_header(header, sink)).map_err(
        |error| match error {
            TraceError::Write { source, .. } => fail(source),
            other => other,
        },
    )?;
    // Temporary directories are private; a Trace is to be read by others too.
    fs::set_permissions(new.path(), fs::Permissions::from_mode(0o755)).map_err(fail)?;
    Ok((place, new))
}

impl TracePath {
    fn fail(&self, source: io::Error) -> TraceError {
        TraceError::Create { path: self.asked.clone(), source }
    }

    fn beside(&self) -> Result<TempDir, TraceError> {
        let name =
            self.target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let parent = self.target.parent().unwrap_or(Path::new("/"));
        tempfile::Builder::new()
            .prefix(&format!(".{name}-"))
            .tempdir_in(parent)
            .map_err(|error| self.fail(error))
    }

    /// Goes to a free name next to the place instead, which has `word` in it.
    pub(super) fn elsewhere(&mut self, word: &str) -> Result<PathBuf, TraceError> {
        let stem =
            self.target.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let name = self.target.with_file_name(format!("{stem}-{word}.swtch"));
        self.target = free(&name).map_err(|error| self.fail(error))?;
        self.replaces = false;
        Ok(self.target.clone())
    }

    /// Renames `new` to the place.
    pub(super) fn take(self, new: TempDir) -> Result<PathBuf, TraceError> {
        self.put(new.path())?;
        // It has its place now: nothing is left to delete under its temporary name.
        drop(new.keep());
        Ok(self.target)
    }

    fn put(&self, new: &Path) -> Result<(), TraceError> {
        let fail = |source| self.fail(source);
        if !self.replaces {
            return fs::rename(new, &self.target).map_err(fail);
        }
        let aside = self.beside()?;
        fs::rename(&self.target, aside.path()).map_err(fail)?;
        fs::rename(new, &self.target).map_err(|error| {
            // Back to its place, and out of the reach of the temporary directory's deletion, whether that succeeds or not.
            let aside = aside.keep();
            fail(fs::rename(&aside, &self.target).err().unwrap_or(error))
        })
    }
}

/// Whether something is at a place, a Trace or not.
pub(super) fn is_free(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Puts a whole Trace in the place of an older one, which is there until then.
pub(super) fn replace(new: &Path, old: &Path) -> Result<(), TraceError> {
    let fail = |source| TraceError::Write { path: old.to_owned(), source };
    let target = resolve(old).map_err(fail)?;
    check_is_trace(&target, old)?;
    TracePath { asked: old.to_owned(), target, replaces: true }.put(new)
}

/// Refuses, before anything is recorded, to replace something that is not a Trace.
pub(super) fn check_replaceable(folder: &Path) -> Result<(), TraceError> {
    let fail = |source| TraceError::Write { path: folder.to_owned(), source };
    check_is_trace(&resolve(folder).map_err(fail)?, folder)
}

/// `NAME.swtch` if nothing is there, otherwise the first of `NAME-2.swtch`, `NAME-3.swtch` and so on that is free.
///
/// # Errors
/// When it cannot be found out what is there.
pub(super) fn free(folder: &Path) -> io::Result<PathBuf> {
    if is_free(folder)? {
        return Ok(folder.to_owned());
    }
    let stem = folder.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    for number in 2_u32.. {
        let name = folder.with_file_name(format!("{stem}-{number}.swtch"));
        if is_free(&name)? {
            return Ok(name);
        }
    }
    Err(io::Error::other("no name is free"))
}

/// The place itself, where symbolic links lead, so that renaming replaces the Trace and not the link.
fn resolve(folder: &Path) -> io::Result<PathBuf> {
    if let Ok(found) = fs::canonicalize(folder) {
        return Ok(found);
    }
    let name = folder.file_name().ok_or_else(|| io::Error::other("it is not a name for a directory"))?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(fs::canonicalize(parent)?.join(name))
}

/// Refuses something that is not a Trace, and a Trace with files that are not its own: they would be deleted with it.
fn check_is_trace(target: &Path, folder: &Path) -> Result<(), TraceError> {
    let occupied = |why: String| TraceError::Occupied { path: folder.to_owned(), why };
    let contents = files::header_contents(target).map_err(|error| match error {
        TraceError::NotATrace { why, .. } => occupied(format!("it exists and is not a Trace ({why})")),
        other => other,
    })?;
    let is_header = files::schema_of(&contents).is_ok_and(|schema| schema.starts_with("swtch/trace/"));
    if !is_header {
        return Err(occupied("the header.json there is not a Trace's".to_owned()));
    }
    let fail = |source| TraceError::Read { path: folder.to_owned(), source };
    for entry in fs::read_dir(target).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if !name.to_str().is_some_and(files::is_own) {
            return Err(occupied(format!(
                "the Trace there has a file that is not its own, {}",
                name.display()
            )));
        }
    }
    Ok(())
}
