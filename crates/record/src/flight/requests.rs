//! Requests for a Trace, by a socket in the directory of the Traces.
//!
//! A process that may open the socket may ask: the file system's permissions decide. Nothing listens on the network, where a web page or another
//! machine could ask too. A caller sends nothing; the answer is one line of JSON.

use crate::error::RecordError;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The socket's name.
const SOCKET: &str = "serve.sock";
/// How long a Trace may take to be written.
const PATIENCE: Duration = Duration::from_secs(300);

/// The socket, while it is listened on.
#[derive(Debug)]
pub(super) struct Requests {
    listener: UnixListener,
    path: PathBuf,
    /// Of the directory: it ends with this process, whatever ends it.
    _lock: File,
}

impl Requests {
    /// Makes the directory, for this user alone, and listens in it.
    ///
    /// # Errors
    /// When it cannot be written to, or another flight recorder listens there.
    pub(super) fn open(folder: &Path) -> Result<Self, RecordError> {
        let fail = |source| RecordError::DumpFolder { folder: folder.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        let path = folder.join(SOCKET);
        let lock = File::open(folder).map_err(fail)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| fail(io::Error::other("another 'swtch serve --keep' writes there")))?;
        // One of a server that was killed.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(fail)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        Ok(Self { listener, path, _lock: lock })
    }

    /// The next caller, if any.
    pub(super) fn next(&self) -> Option<Caller> {
        self.listener.accept().ok().map(|(stream, _)| Caller(stream))
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Waits for an answer.
#[derive(Debug)]
pub(super) struct Caller(UnixStream);

impl Caller {
    pub(super) fn answer(mut self, answer: &Result<DumpAnswer, String>) {
        let line = match answer {
            Ok(DumpAnswer { trace, seconds }) => json!({ "trace": trace, "seconds": seconds }),
            Err(why) => json!({ "error": why }),
        };
        // Shorter than the socket's buffer: no caller can stall this.
        let _ = self.0.set_nonblocking(true).and_then(|()| writeln!(self.0, "{line}"));
    }
}

/// A Trace that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct DumpAnswer {
    /// Where it is.
    pub trace: PathBuf,
    /// The time that it covers.
    pub seconds: f64,
}

/// Why a Trace that was asked for is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No flight recorder listens.
    #[error("no 'swtch serve --keep' writes to {}: {source}; start one, or name its directory with --dumps", folder.display())]
    NoServer {
        /// The directory.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It ended, or it takes too long.
    #[error("'swtch serve' gave no answer: {0}; its own messages may say why")]
    NoAnswer(io::Error),
    /// It refused, or could not.
    #[error("'swtch serve' wrote no Trace: {0}")]
    Refused(String),
}

/// Asks the flight recorder that writes to `folder` for a Trace, and waits for it.
///
/// # Errors
/// When none listens there, or it writes none.
pub fn ask(folder: &Path) -> Result<DumpAnswer, RequestError> {
    let path = folder.join(SOCKET);
    let connected = UnixStream::connect(&path);
    let mut stream =
        connected.map_err(|source| RequestError::NoServer { folder: folder.to_owned(), source })?;
    let mut line = String::new();
    let read = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.read_to_string(&mut line));
    read.map_err(RequestError::NoAnswer)?;
    let answer: Value = serde_json::from_str(&line).map_err(|error| RequestError::NoAnswer(error.into()))?;
    match (answer["trace"].as_str(), answer["seconds"].as_f64(), answer["error"].as_str()) {
        (Some(trace), Some(seconds), _) => Ok(DumpAnswer { trace: trace.into(), seconds }),
        (_, _, why) => Err(RequestError::Refused(why.unwrap_or("it gave no reason").to_owned())),
    }
}
