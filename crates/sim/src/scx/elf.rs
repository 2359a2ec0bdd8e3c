//! The names and sizes of a shared object's symbols, so that nothing is written beyond a variable's end.

/// Section type of the symbols that a loader sees (ELF-64 object file format, version 1.5).
const SHT_DYNSYM: u32 = 11;

/// The size in bytes of an exported symbol; `None` without it, or if the bytes are no 64-bit little-endian ELF file.
pub(super) fn symbol_bytes(object: &[u8], name: &str) -> Option<u64> {
    if object.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let sections_at = u64_at(object, 0x28)?;
    let section_bytes = u64::from(u16_at(object, 0x3a)?);
    let count = u64::from(u16_at(object, 0x3c)?);
    let section = |number: u64| sections_at.checked_add(number.checked_mul(section_bytes)?);
    for number in 0..count {
        let header = section(number)?;
        if u32_at(object, header.checked_add(4)?)? != SHT_DYNSYM {
            continue;
        }
        let (at, bytes) = (u64_at(object, header + 0x18)?, u64_at(object, header + 0x20)?);
        let names_at =
            u64_at(object, section(u64::from(u32_at(object, header + 0x28)?))?.checked_add(0x18)?)?;
        for symbol in 0..bytes / 24 {
            let symbol = at.checked_add(symbol * 24)?;
            let name_at = names_at.checked_add(u64::from(u32_at(object, symbol)?))?;
            let found = object.get(name_at as usize..)?.split(|byte| *byte == 0).next()?;
            if found == name.as_bytes() {
                return u64_at(object, symbol + 16);
            }
        }
    }
    None
}

fn bytes_at<const N: usize>(object: &[u8], at: u64) -> Option<[u8; N]> {
    let at = usize::try_from(at).ok()?;
    object.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(object: &[u8], at: u64) -> Option<u16> {
    bytes_at(object, at).map(u16::from_le_bytes)
}

fn u32_at(object: &[u8], at: u64) -> Option<u32> {
    bytes_at(object, at).map(u32::from_le_bytes)
}

fn u64_at(object: &[u8], at: u64) -> Option<u64> {
    bytes_at(object, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_of_symbols_are_found_and_nonsense_has_none() {
        let object = crate::scx::FLSCHED_OBJECT;
        assert_eq!(super::symbol_bytes(object, "slice_ns"), Some(8));
        assert_eq!(super::symbol_bytes(object, "no_such_name"), None);
        for end in 0..object.len().min(400) {
            assert_eq!(super::symbol_bytes(&object[..end], "slice_ns"), None);
        }
    }
}
