//! Errors of compiling, loading and starting a scheduler.

use std::path::PathBuf;

/// Why a scheduler cannot be compiled, loaded or started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScxError {
    /// There is no C compiler.
    #[error("no C compiler was found (tried {tried}); install clang or gcc, or set CC")]
    NoCompiler {
        /// The names that were tried.
        tried: String,
    },
    /// The source does not compile.
    #[error("{compiler} cannot compile {}: {first_line}", source_path.display())]
    Compile {
        /// The compiler that was asked.
        compiler: String,
        /// The scheduler's source.
        source_path: PathBuf,
        /// The first line with an error.
        first_line: String,
        /// All that the compiler said.
        output: String,
    },
    /// A map's definition is not one that is understood.
    #[error("the map '{name}' in {} is not understood: {problem}", source_path.display())]
    Map {
        /// The map.
        name: String,
        /// The scheduler's source.
        source_path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing}: {error}")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        error: std::io::Error,
    },
    /// The object is not a scheduler, or was compiled for another version of the simulator.
    #[error("the compiled scheduler cannot be loaded: {problem}")]
    Load {
        /// What is wrong.
        problem: String,
    },
    /// There is no variable or program of this name, or the value does not fit it.
    #[error("the scheduler has no {what} '{name}'")]
    NoSymbol {
        /// `global variable` or `program`.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

impl ScxError {
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io { doing, error }
    }

    pub(super) fn load(problem: impl Into<String>) -> Self {
        Self::Load { problem: problem.into() }
    }
}
