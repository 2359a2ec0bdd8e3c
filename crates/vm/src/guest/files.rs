//! Sends the files back that the host asked for.

use super::{Channel, GuestJob};
use crate::protocol::{EntryKind, FileHead, Message, PIECE_BYTES, Report, Trouble};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(super) fn send(job: &GuestJob, channel: &Channel) {
    for (wish, path) in job.fetch.iter().enumerate() {
        let place = job.folder().join(path);
        if let Err(error) = send_below(wish, &place, Path::new(""), channel) {
            channel.trouble(Trouble::Fetch { path: path.clone(), why: error.to_string() });
        }
    }
}

/// A file, or a directory with everything in it, in the order of names.
fn send_below(wish: usize, root: &Path, below: &Path, channel: &Channel) -> io::Result<()> {
    let place = if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) };
    let metadata = fs::metadata(&place)?;
    let kind = if metadata.is_dir() { EntryKind::Folder } else { EntryKind::File };
    let mode = metadata.permissions().mode() & 0o777;
    let head = FileHead { wish, below: below.as_os_str().to_owned(), kind, mode };
    if kind == EntryKind::Folder {
        channel.report(Report::File(head));
        let mut names: Vec<OsString> =
            fs::read_dir(&place)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
        names.sort();
        return names.iter().try_for_each(|name| send_below(wish, root, &below.join(name), channel));
    }
    // Opened first: a file that cannot be read is not begun.
    let mut file = File::open(&place)?;
    channel.report(Report::File(head));
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            break;
        }
        channel.send(&Message::Piece(piece[..length].to_vec()));
    }
    channel.report(Report::FileEnd);
    Ok(())
}
