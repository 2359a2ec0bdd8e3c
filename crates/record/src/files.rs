//! Small files of procfs and cgroups under a root, with the reason when one cannot be read.

use std::fs;
use std::path::{Path, PathBuf};

/// Where `path` is under `root`. A leading slash is dropped, since joining an absolute path would leave the root.
pub(crate) fn locate(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The text of a file, bytes that are not UTF-8 replaced; or one line that says which file and why not.
pub(crate) fn text(root: &Path, path: &str) -> Result<String, String> {
    let bytes = fs::read(locate(root, path))
        .map_err(|error| format!("/{}: {error}", path.trim_start_matches('/')))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
