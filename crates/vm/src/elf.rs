//! What a program needs to start: its loader and its shared libraries, read from its own headers.

use crate::arch::Arch;
use crate::error::VmError;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind, elf};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// What an ELF file asks of the system that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The dynamic loader.
    pub(crate) loader: Option<PathBuf>,
    /// Shared libraries, by the names the loader looks for.
    pub(crate) libraries: Vec<OsString>,
    /// Where to look first; `$ORIGIN` is the file's own directory.
    pub(crate) search: Vec<OsString>,
    /// Bytes from the file's start that a running program can see: sections after them are not loaded (debug information), if
    /// nothing else follows them.
    pub(crate) loaded_bytes: usize,
}

/// Bytes of a file's start that tell what machine it is for.
const HEAD_BYTES: usize = 20;

/// Whether these are the contents of a 64-bit ELF file; scripts and data are not.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    matches!(FileKind::parse(bytes), Ok(FileKind::Elf64))
}

/// The kind of machine (`e_machine`) that an ELF file is for, by its first bytes.
pub(crate) fn machine(bytes: &[u8]) -> Option<u16> {
    let head: &[u8; HEAD_BYTES] = bytes.first_chunk()?;
    if head[..4] != elf::ELFMAG {
        return None;
    }
    let field = [head[18], head[19]];
    Some(if head[5] == elf::ELFDATA2MSB.0 { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) })
}

/// The same of a file that may not be one, or not be readable.
pub(crate) fn machine_of(path: &Path) -> Option<u16> {
    let mut head = [0; HEAD_BYTES];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    machine(&head)
}

/// Refuses a program that is for another kind of machine; `next` is what to do then.
pub(crate) fn check_machine(path: &Path, arch: Arch, next: impl FnOnce() -> String) -> Result<(), VmError> {
    match machine_of(path) {
        Some(machine) if machine != arch.facts().elf_machine => Err(VmError::WrongMachine {
            program: path.to_owned(),
            is: machine_in_words(machine),
            arch,
            next: next(),
        }),
        _ => Ok(()),
    }
}

fn machine_in_words(machine: u16) -> String {
    let known = Arch::ALL.into_iter().find(|arch| arch.facts().elf_machine == machine);
    known.map_or_else(|| format!("ELF machine {machine}"), |arch| format!("{arch} (ELF machine {machine})"))
}

/// Reads a 64-bit ELF file.
pub(crate) fn needs(bytes: &[u8]) -> Result<Needs, object::Error> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    let mut needs = Needs { loaded_bytes: bytes.len(), ..Needs::default() };
    for segment in segments {
        if let Some(path) = segment.interpreter(endian, bytes)? {
            needs.loader = Some(PathBuf::from(OsString::from_vec(path.to_vec())));
        }
        let Some(entries) = segment.dynamic(endian, bytes)? else { continue };
        let strings = strings(endian, bytes, segments, entries);
        for entry in entries {
            let tag = entry.tag(endian);
            if !matches!(tag, elf::DT_NEEDED | elf::DT_RUNPATH | elf::DT_RPATH) {
                continue;
            }
            let text = string_at(strings, entry.val(endian));
            if tag == elf::DT_NEEDED {
                needs.libraries.push(text);
            } else {
                let folders = text.into_vec();
                needs.search.extend(
                    folders.split(|byte| *byte == b':').map(|folder| OsString::from_vec(folder.to_vec())),
                );
            }
        }
    }
    needs.loaded_bytes = loaded_bytes(header, endian, bytes)?;
    Ok(needs)
}

/// The dynamic string table, found by its address as a loader finds it: stripped files have no sections.
fn strings<'data>(
    endian: Endianness,
    bytes: &'data [u8],
    segments: &[elf::ProgramHeader64<Endianness>],
    entries: &[elf::Dyn64<Endianness>],
) -> &'data [u8] {
    let value = |tag| entries.iter().find(|entry| entry.tag(endian) == tag).map(|entry| entry.val(endian));
    let (Some(address), Some(length)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
        return &[];
    };
    for segment in segments {
        if let Ok(Some(found)) = segment.data_range(endian, bytes, address, length) {
            return found;
        }
    }
    &[]
}

fn string_at(strings: &[u8], offset: u64) -> OsString {
    let rest = usize::try_from(offset).ok().and_then(|offset| strings.get(offset..)).unwrap_or_default();
    OsString::from_vec(rest.split(|byte| *byte == 0).next().unwrap_or_default().to_vec())
}

/// Where the last loaded segment ends, if everything behind it is sections and their table; programs that carry their data behind
/// themselves stay whole.
fn loaded_bytes(
    header: &elf::FileHeader64<Endianness>,
    endian: Endianness,
    bytes: &[u8],
) -> Result<usize, object::Error> {
    let end_of = |(offset, length): (u64, u64)| offset.saturating_add(length);
    if header.program_headers(endian, bytes)?.is_empty() {
        // An object that no linker has seen is nothing but sections.
        return Ok(bytes.len());
    }
    let mut loaded = 0;
    for segment in header.program_headers(endian, bytes)? {
        loaded = loaded.max(end_of(segment.file_range(endian)));
    }
    let table = header.e_shoff.get(endian);
    let count = u64::from(header.e_shnum.get(endian));
    let mut described = table.saturating_add(count * u64::from(header.e_shentsize.get(endian)));
    if table == 0 || count == 0 {
        return Ok(bytes.len());
    }
    for section in header.section_headers(endian, bytes)? {
        if section.sh_type(endian) != elf::SHT_NOBITS {
            described = described.max(end_of((section.sh_offset(endian), section.sh_size(endian))));
        }
    }
    let everything_described = described >= bytes.len() as u64;
    let end = usize::try_from(loaded).unwrap_or(bytes.len()).clamp(size_of_val(header), bytes.len());
    Ok(if everything_described { end } else { bytes.len() })
}

/// The file without what no running program sees, its table of sections included.
pub(crate) fn without_sections(bytes: &[u8], loaded_bytes: usize) -> Vec<u8> {
    let mut kept = bytes[..loaded_bytes.min(bytes.len())].to_vec();
    if kept.len() < bytes.len() {
        // e_shoff, then e_shentsize to e_shstrndx of the 64-bit header.
        for place in [40..48, 58..64] {
            if let Some(field) = kept.get_mut(place) {
                field.fill(0);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn own() -> Vec<u8> {
        fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn a_program_names_its_loader_and_its_libraries() {
        let needs = needs(&own()).unwrap();
        assert!(needs.libraries.contains(&"libc.so.6".into()), "{needs:?}");
        assert!(needs.loader.as_ref().is_some_and(|loader| loader.exists()), "{needs:?}");
        assert_eq!(
            needs.libraries.len(),
            needs.libraries.iter().collect::<std::collections::BTreeSet<_>>().len()
        );
    }

    #[test]
    fn it_still_runs_without_its_sections() {
        let bytes = own();
        let small = without_sections(&bytes, needs(&bytes).unwrap().loaded_bytes);
        assert!(small.len() < bytes.len(), "this test has debug information and symbols: {}", small.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small");
        fs::write(&path, small).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let listed = Command::new(&path).arg("--list").output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("it_still_runs_without_its_sections"));
    }

    #[test]
    fn what_a_program_carries_behind_itself_stays() {
        let mut bytes = own();
        bytes.extend_from_slice(b"an archive that the program unpacks");
        assert_eq!(needs(&bytes).unwrap().loaded_bytes, bytes.len());
    }

    #[test]
    fn other_files_are_no_programs() {
        assert!(is_elf(&own()));
        for bytes in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF", b"\x7fELF\x01\x01\x01"] {
            assert!(!is_elf(bytes) || needs(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_program_for_another_machine_is_told_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let arch = Arch::ALL.into_iter().find(|arch| !arch.is_native()).unwrap();
        let own = own();
        fs::write(&path, &own).unwrap();
        assert_eq!(machine_of(&path), machine(&own));
        let error = check_machine(&path, arch, || "do this".to_owned()).unwrap_err().to_string();
        let number = machine(&own).unwrap().to_string();
        assert!(
            error.contains(&number) && error.contains(arch.name()) && error.ends_with("do this"),
            "{error}"
        );
        fs::write(&path, "#!/bin/sh\n").unwrap();
        assert!(check_machine(&path, arch, String::new).is_ok(), "a script is for every machine");
    }

    proptest! {
        #[test]
        fn damaged_programs_never_make_it_panic(at in 0usize..4096, byte: u8, keep in 0usize..8192) {
            let mut bytes = own();
            bytes.truncate(keep.max(64));
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            if let Ok(needs) = needs(&bytes) {
                let _ = without_sections(&bytes, needs.loaded_bytes);
            }
        }
    }
}
