//! Whether something was changed: FNV-1a, 64 bits, the same on every machine.

use std::fs;
use std::io;
use std::path::Path;

/// That of a text.
pub fn hash_of(text: &str) -> String {
    written(add(START, text.as_bytes()))
}

/// That of a file, or of all files of a directory and their names.
pub(crate) fn hash_of_path(path: &Path) -> io::Result<String> {
    Ok(written(sum_of(path, START)?))
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

fn written(sum: u64) -> String {
    format!("{sum:016x}")
}

fn add(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn sum_of(path: &Path, sum: u64) -> io::Result<u64> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(add(sum, &fs::read(path)?));
    }
    let mut names =
        fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    names
        .into_iter()
        .try_fold(sum, |sum, name| sum_of(&path.join(&name), add(add(sum, name.as_encoded_bytes()), b"\0")))
}
