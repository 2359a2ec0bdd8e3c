//! A scheduler's program: this one with the object behind it, so that it needs neither file nor compiler where it runs.

use crate::error::FileError;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Ends such a program, after the object, the name and the lengths of both.
const MARK: &[u8; 16] = b"\nswtch-scheduler";
/// A length.
const WORD: usize = 8;

/// A scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) object: Vec<u8>,
}

impl Bundle {
    /// What this program has behind it.
    pub(crate) fn of_this_program() -> Result<Option<Self>, FileError> {
        let own = Path::new("/proc/self/exe");
        Ok(Self::behind(&std::fs::read(own).map_err(FileError::of(own))?))
    }

    fn behind(program: &[u8]) -> Option<Self> {
        let rest = program.strip_suffix(MARK)?;
        let (rest, name_length) = last_number(rest)?;
        let (rest, object_length) = last_number(rest)?;
        let name_at = rest.len().checked_sub(name_length)?;
        let object_at = name_at.checked_sub(object_length)?;
        let name = String::from_utf8(rest[name_at..].to_vec()).ok()?;
        Some(Self { name, object: rest[object_at..name_at].to_vec() })
    }

    /// Writes the program.
    pub(crate) fn write(&self, out: &Path) -> Result<(), FileError> {
        let own = Path::new("/proc/self/exe");
        let mut bytes = std::fs::read(own).map_err(FileError::of(own))?;
        bytes.extend_from_slice(&self.behind_a_program());
        std::fs::write(out, bytes).map_err(FileError::of(out))?;
        std::fs::set_permissions(out, std::fs::Permissions::from_mode(0o755)).map_err(FileError::of(out))
    }

    fn behind_a_program(&self) -> Vec<u8> {
        let mut bytes = self.object.clone();
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(&(self.object.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&(self.name.len() as u64).to_le_bytes());
        bytes.extend_from_slice(MARK);
        bytes
    }
}

fn last_number(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (rest, number) = bytes.split_at_checked(bytes.len().checked_sub(WORD)?)?;
    Some((rest, usize::try_from(u64::from_le_bytes(number.try_into().ok()?)).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_program_is_found_and_nothing_else() {
        let bundle = Bundle { name: "mine".to_owned(), object: b"\x7fELF and more".to_vec() };
        let mut program = b"a program".to_vec();
        assert_eq!(Bundle::behind(&program), None);
        program.extend(bundle.behind_a_program());
        assert_eq!(Bundle::behind(&program), Some(bundle));
        // Lengths that lead out of the file are those of another program.
        let end = program.len() - MARK.len();
        program[end - 1] = 0x7f;
        assert_eq!(Bundle::behind(&program), None);
        assert_eq!(Bundle::behind(MARK), None);
    }
}
