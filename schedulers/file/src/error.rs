//! Why a file did not become a scheduler.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{0}")]
    Usage(String),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(
        "no clang of version 18 or later: {found}; install clang (Debian: apt install clang-19), or name it in BPF_CLANG"
    )]
    NoCompiler { found: String },
    #[error("{} does not compile; the compiler says why above", path.display())]
    DoesNotCompile { path: PathBuf },
    #[error("the headers cannot be unpacked into {}: {source}", path.display())]
    Headers { path: PathBuf, source: std::io::Error },
}

impl FileError {
    pub(crate) fn of(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
