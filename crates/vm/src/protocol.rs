//! What the guest tells the host: typed messages in frames with a checksum, over a channel of its own.
//!
//! A frame is `SWVM`, a kind (one byte), the payload's length and its CRC-32 (four bytes each, little-endian), and the payload. Messages
//! are JSON; output and the contents of files are bytes as they are. Bytes that are not a frame are an error: nothing is guessed.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Write};

const MAGIC: [u8; 4] = *b"SWVM";
const HEAD_BYTES: usize = 13;
/// The longest payload. The guest cuts output and files into pieces of at most [`PIECE_BYTES`].
const LARGEST_PAYLOAD_BYTES: usize = 1 << 20;
/// Pieces that output and files travel in.
pub(crate) const PIECE_BYTES: usize = 32 << 10;

/// Which of the command's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended, and what the guest's kernel counted meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exited {
    /// Its exit status, unless a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From its start to its end on the guest's clock, nanoseconds. With [`Spec::deterministic`](crate::Spec), the instructions of all CPUs together
    /// and the time in which all of them slept.
    pub elapsed_ns: u64,
    /// Context switches of the whole guest meanwhile (`ctxt` of `/proc/stat`).
    pub context_switches: u64,
    /// Tasks made meanwhile (`processes` of `/proc/stat`).
    pub forks: u64,
    /// Processes that the kernel killed for want of memory (`oom_kill` of `/proc/vmstat`).
    pub oom_kills: u64,
}

impl Exited {
    /// The status as a shell gives it: 128 plus the number for a signal.
    pub fn shell_status(&self) -> i32 {
        self.status.or_else(|| self.signal.map(|signal| 128 + signal)).unwrap_or(1)
    }
}

/// What a file is that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryKind {
    File,
    Folder,
}

/// Begins a file or makes a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileHead {
    /// Which of the files that were asked for, from 0.
    pub(crate) wish: usize,
    /// Below it; empty for itself.
    pub(crate) below: OsString,
    pub(crate) kind: EntryKind,
    /// Permissions.
    pub(crate) mode: u32,
}

/// Something that went wrong in the guest without ending it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum Trouble {
    /// A file system that cannot be mounted: the kernel lacks it.
    Mount { place: String, why: String },
    /// The CPUs that are to be slow are not.
    Slowing { why: String },
    /// The kernel has no energy model.
    Energy { why: String },
    /// The scheduler did not get going, or ended before the command did.
    Scheduler { why: String },
    /// The command cannot be started.
    Command { why: String },
    /// A file that was asked for is not there.
    Fetch { path: OsString, why: String },
}

/// A message of the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The guest's first process runs.
    Booted {
        kernel: String,
        cpus: u64,
        uptime_ns: u64,
    },
    /// The scheduler that was asked for schedules; the name its kernel gives it.
    Scheduler {
        ops: String,
    },
    /// The guest's CPUs did not become idle before the command.
    Busy {
        percent: u64,
    },
    /// The command starts now.
    Started,
    /// Sent every so often.
    Alive {
        uptime_ns: u64,
    },
    Exited(Exited),
    File(FileHead),
    FileEnd,
    Trouble(Trouble),
    /// Nothing follows.
    Done,
}

/// What a frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Report(Report),
    Output(Stream, Vec<u8>),
    /// The next piece of the file that was begun.
    Piece(Vec<u8>),
}

/// Why bytes are not what the guest sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It does not begin as a frame does.
    #[error("no frame begins at byte {0} of the guest's channel")]
    Magic(u64),
    /// A kind that is unknown.
    #[error("the frame at byte {0} of the guest's channel is of the unknown kind {1}")]
    Kind(u64, u8),
    /// Longer than any frame.
    #[error("the frame at byte {0} of the guest's channel claims {1} bytes")]
    Length(u64, u32),
    /// Other bytes than were sent.
    #[error("the frame at byte {0} of the guest's channel is damaged")]
    Checksum(u64),
    /// A message that cannot be understood.
    #[error("the frame at byte {0} of the guest's channel holds no message: {1}")]
    Message(u64, String),
}

const KIND_REPORT: u8 = 1;
const KIND_STDOUT: u8 = 2;
const KIND_STDERR: u8 = 3;
const KIND_PIECE: u8 = 4;

impl Message {
    /// Writes one frame in one call.
    pub(crate) fn write_to(&self, mut channel: impl Write) -> io::Result<()> {
        let json;
        let (kind, payload) = match self {
            Self::Report(report) => {
                json = serde_json::to_vec(report)?;
                (KIND_REPORT, &json)
            }
            Self::Output(Stream::Stdout, bytes) => (KIND_STDOUT, bytes),
            Self::Output(Stream::Stderr, bytes) => (KIND_STDERR, bytes),
            Self::Piece(bytes) => (KIND_PIECE, bytes),
        };
        let mut frame = Vec::with_capacity(HEAD_BYTES + payload.len());
        frame.extend_from_slice(&MAGIC);
        frame.push(kind);
        frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        frame.extend_from_slice(&crc32(payload).to_le_bytes());
        frame.extend_from_slice(payload);
        channel.write_all(&frame)
    }
}

/// Makes messages of bytes that come in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    bytes: Vec<u8>,
    /// Bytes taken so far, for error messages.
    taken: u64,
}

impl Decoder {
    /// Takes more bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, once all of it is here.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, FrameError> {
        let Some((head, rest)) = self.bytes.split_at_checked(HEAD_BYTES) else { return Ok(None) };
        if head[..4] != MAGIC {
            return Err(FrameError::Magic(self.taken));
        }
        let [length, checksum] =
            [5, 9].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        if length as usize > LARGEST_PAYLOAD_BYTES {
            return Err(FrameError::Length(self.taken, length));
        }
        let Some(payload) = rest.get(..length as usize) else { return Ok(None) };
        if crc32(payload) != checksum {
            return Err(FrameError::Checksum(self.taken));
        }
        let message = match head[4] {
            KIND_REPORT => Message::Report(
                serde_json::from_slice(payload)
                    .map_err(|error| FrameError::Message(self.taken, error.to_string()))?,
            ),
            KIND_STDOUT => Message::Output(Stream::Stdout, payload.to_vec()),
            KIND_STDERR => Message::Output(Stream::Stderr, payload.to_vec()),
            KIND_PIECE => Message::Piece(payload.to_vec()),
            other => return Err(FrameError::Kind(self.taken, other)),
        };
        let frame_bytes = HEAD_BYTES + length as usize;
        self.bytes.drain(..frame_bytes);
        self.taken += frame_bytes as u64;
        Ok(Some(message))
    }
}

/// CRC-32 as in Ethernet and zlib (IEEE 802.3).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8))
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> Vec<Message> {
        let exited = Exited {
            status: None,
            signal: Some(9),
            elapsed_ns: 5,
            context_switches: 7,
            forks: 1,
            oom_kills: 0,
        };
        let head = FileHead { wish: 0, below: "a/b".into(), kind: EntryKind::File, mode: 0o644 };
        vec![
            Message::Report(Report::Booted { kernel: "7.3".into(), cpus: 4, uptime_ns: 1 }),
            Message::Output(Stream::Stdout, b"out\0\xff".to_vec()),
            Message::Output(Stream::Stderr, vec![]),
            Message::Report(Report::Exited(exited)),
            Message::Report(Report::File(head)),
            Message::Piece(vec![7; PIECE_BYTES]),
            Message::Report(Report::Trouble(Trouble::Command { why: "no".into() })),
            Message::Report(Report::Done),
        ]
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages() {
            message.write_to(&mut bytes).unwrap();
        }
        bytes
    }

    fn all(decoder: &mut Decoder) -> Result<Vec<Message>, FrameError> {
        std::iter::from_fn(|| decoder.next().transpose()).collect()
    }

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_shell_sees_signals_as_128_and_more() {
        let Message::Report(Report::Exited(exited)) = &messages()[3] else { unreachable!() };
        assert_eq!(exited.shell_status(), 137);
    }

    #[test]
    fn messages_arrive_whole_in_pieces_of_any_size() {
        let bytes = written();
        for size in [1, 7, 13, 4096, bytes.len()] {
            let (mut decoder, mut found) = (Decoder::default(), Vec::new());
            for piece in bytes.chunks(size) {
                decoder.push(piece);
                found.extend(all(&mut decoder).unwrap());
            }
            assert_eq!(found, messages(), "pieces of {size}");
        }
    }

    #[test]
    fn what_is_cut_off_is_waited_for() {
        let bytes = written();
        let mut decoder = Decoder::default();
        decoder.push(&bytes[..bytes.len() - 1]);
        assert_eq!(all(&mut decoder).unwrap().len(), messages().len() - 1);
    }

    #[test]
    fn every_damage_is_named() {
        let mut frame = Vec::new();
        Message::Output(Stream::Stdout, b"hello".to_vec()).write_to(&mut frame).unwrap();
        let damaged = |at: usize, value: u8| {
            let mut bytes = frame.clone();
            bytes[at] = value;
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            decoder.next().unwrap_err()
        };
        assert_eq!(damaged(0, b'x'), FrameError::Magic(0));
        assert_eq!(damaged(4, 99), FrameError::Kind(0, 99));
        assert_eq!(
            damaged(4, KIND_REPORT).to_string().split(": ").nth(1),
            Some("expected value at line 1 column 1")
        );
        assert_eq!(damaged(8, 0xff), FrameError::Length(0, 0xff00_0005));
        assert_eq!(damaged(HEAD_BYTES, b'j'), FrameError::Checksum(0));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in 0usize..200) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            let _ = all(&mut decoder);
            let mut mixed = written();
            mixed.truncate(400);
            for (place, byte) in bytes.iter().enumerate() {
                if let Some(old) = mixed.get_mut(at + place) {
                    *old = *byte;
                }
            }
            let mut decoder = Decoder::default();
            decoder.push(&mixed);
            let _ = all(&mut decoder);
        }
    }
}
