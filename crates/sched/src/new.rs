//! A new scheduler: a commented source and its test.

use crate::error::SchedError;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What stands for the name in the templates.
const NAME: &str = "@NAME@";
const SOURCE: &str = include_str!("new/skeleton.bpf.c");
const TEST: &str = include_str!("new/test.sh");
/// `SCX_OPS_NAME_LEN` of the kernel (kernel/sched/ext.c, 6.12) has one byte for the end.
const LONGEST_NAME: usize = 127;

/// Writes `NAME.bpf.c` and `NAME.test.sh` into the directory; returns where they are.
///
/// # Errors
/// When the name is not one of C, when a file is there already, or cannot be written.
pub fn write_new(name: &str, folder: &Path) -> Result<[PathBuf; 2], SchedError> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    if !name.starts_with(begins) || !name.chars().all(is_letter) || name.len() > LONGEST_NAME {
        return Err(SchedError::Wish(format!(
            "'{name}' cannot be a scheduler's name; use up to {LONGEST_NAME} letters, digits and _, a letter first"
        )));
    }
    let files =
        [(folder.join(format!("{name}.bpf.c")), SOURCE), (folder.join(format!("{name}.test.sh")), TEST)];
    if let Some((there, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(SchedError::Wish(format!(
            "{} is there already and is kept; choose another name",
            there.display()
        )));
    }
    for (path, text) in &files {
        let written = OpenOptions::new().write(true).create_new(true).open(path);
        written
            .and_then(|mut file| file.write_all(text.replace(NAME, name).as_bytes()))
            .map_err(SchedError::system(format!("writing {}", path.display())))?;
    }
    Ok(files.map(|(path, _)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_its_name_everywhere_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        for path in write_new("mine", folder.path()).unwrap() {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains("mine.bpf.c") && !text.contains('@'), "{text}");
        }
        let again = write_new("mine", folder.path()).unwrap_err().to_string();
        assert!(again.contains("mine.bpf.c is there already"), "{again}");
        for bad in ["", "1st", "a-b", "../x", "a b"] {
            assert!(write_new(bad, folder.path()).is_err(), "{bad}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
