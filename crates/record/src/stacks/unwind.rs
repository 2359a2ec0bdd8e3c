//! Callers by `.eh_frame`, which every program on x86-64 has but Go's: most programs and libraries have no frame pointers.

use crate::sources::stacks::{Registers, Rule};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection, UnwindTableRow,
};
use object::{Object, ObjectSection, ObjectSegment, ReadCache};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

// Numbers of registers on x86-64 (System V ABI, figure 3.36).
const BASE_POINTER: Register = Register(6);
const STACK_POINTER: Register = Register(7);
const RETURN_ADDRESS: Register = Register(16);

/// What a file says of its code.
#[derive(Debug, Default)]
pub(crate) struct Binary {
    /// Parts of the file and where they belong in memory: offset, length, address.
    segments: Vec<(u64, u64, u64)>,
    bases: BaseAddresses,
    eh_frame: Vec<u8>,
    eh_frame_hdr: Vec<u8>,
    /// Its build id, in hexadecimal.
    pub(crate) build_id: Option<String>,
}

impl Binary {
    /// Reads a file; one that cannot be read says nothing.
    pub(crate) fn read(path: &Path) -> Self {
        Self::try_read(path).unwrap_or_default()
    }

    fn try_read(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let mut binary = Self::default();
        for segment in file.segments() {
            let (offset, length) = segment.file_range();
            binary.segments.push((offset, length, segment.address()));
        }
        let build_id = file.build_id().ok().flatten();
        binary.build_id = build_id.map(|id| {
            id.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        });
        if file.architecture() != object::Architecture::X86_64 {
            return Some(binary);
        }
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            Some((section.address(), section.data().ok()?.to_vec()))
        };
        if let Some((address, data)) = section(".eh_frame") {
            binary.bases = binary.bases.set_eh_frame(address);
            binary.eh_frame = data;
        }
        if let Some((address, data)) = section(".eh_frame_hdr") {
            binary.bases = binary.bases.set_eh_frame_hdr(address);
            binary.eh_frame_hdr = data;
        }
        if let Some(text) = file.section_by_name(".text") {
            binary.bases = binary.bases.set_text(text.address());
        }
        Some(binary)
    }

    /// Whether it says how callers are found.
    pub(crate) fn knows_callers(&self) -> bool {
        !self.eh_frame.is_empty()
    }

    /// How the caller of the instruction at `offset` of the file is found.
    pub(crate) fn rule(&self, offset: u64) -> Rule {
        self.found(offset).unwrap_or(Rule::FramePointer)
    }

    fn found(&self, offset: u64) -> Option<Rule> {
        let holds = |(from, length, _): &&(u64, u64, u64)| offset >= *from && offset - from < *length;
        let (from, _, address) = self.segments.iter().find(holds)?;
        let address = offset - from + address;
        let eh_frame = EhFrame::new(&self.eh_frame, LittleEndian);
        let mut context = UnwindContext::new();
        let hdr = EhFrameHdr::new(&self.eh_frame_hdr, LittleEndian).parse(&self.bases, 8).ok();
        let row = match hdr.as_ref().and_then(gimli::ParsedEhFrameHdr::table) {
            Some(table) => table.unwind_info_for_address(
                &eh_frame,
                &self.bases,
                &mut context,
                address,
                EhFrame::cie_from_offset,
            ),
            None => {
                eh_frame.unwind_info_for_address(&self.bases, &mut context, address, EhFrame::cie_from_offset)
            }
        };
        rule(row.ok()?)
    }
}

/// The rule of a row, if it is one of those that the kernel's side knows.
fn rule(row: &UnwindTableRow<usize>) -> Option<Rule> {
    match row.register(RETURN_ADDRESS) {
        Some(RegisterRule::Offset(-8)) => {}
        Some(RegisterRule::Undefined) => return Some(Rule::End),
        _ => return None,
    }
    let saved = match row.register(BASE_POINTER) {
        Some(RegisterRule::Offset(offset)) => Some(i32::try_from(offset).ok()?),
        None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => None,
        _ => return None,
    };
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
    let cfa = i32::try_from(*offset).ok()?;
    match *register {
        STACK_POINTER => Some(Rule::StackPointer { cfa, saved }),
        BASE_POINTER => Some(Rule::BasePointer { cfa, saved }),
        _ => None,
    }
}

/// Walks a copy of a stack, as `step` of `bpf/stacks.bpf.c` walks the stack itself: the addresses, the innermost first. `rule` is asked for each, for
/// the instruction that calls.
pub(crate) fn walk(
    mut at: Registers,
    copy: &[u8],
    most: usize,
    mut rule: impl FnMut(u64) -> Rule,
) -> Vec<u64> {
    let from = at.sp;
    let read = |address: u64| {
        let start = usize::try_from(address.checked_sub(from)?).ok()?;
        Some(u64::from_le_bytes(copy.get(start..start.checked_add(8)?)?.try_into().ok()?))
    };
    let mut frames = Vec::new();
    while frames.len() < most {
        let call = if frames.is_empty() { at.ip } else { at.ip - 1 };
        frames.push(at.ip);
        let (cfa, saved) = match rule(call) {
            Rule::End => break,
            Rule::FramePointer => (at.bp.wrapping_add(16), Some(-16)),
            Rule::StackPointer { cfa, saved } => (at.sp.wrapping_add_signed(cfa.into()), saved),
            Rule::BasePointer { cfa, saved } => (at.bp.wrapping_add_signed(cfa.into()), saved),
        };
        let Some(ip) = read(cfa.wrapping_sub(8)) else { break };
        let bp = match saved {
            Some(saved) => read(cfa.wrapping_add_signed(saved.into())),
            None => Some(at.bp),
        };
        let Some(bp) = bp else { break };
        if ip == 0 || cfa <= at.sp {
            break;
        }
        at = Registers { ip, sp: cfa, bp };
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_walked_by_rules_and_by_frame_pointers() {
        // A leaf without a frame (its return address lies at the stack pointer plus 8), then a function with a frame pointer, then the first.
        let words: [u64; 6] = [0, 101, 0, 0x1028, 201, 0];
        let copy: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let at = Registers { ip: 11, sp: 0x1000, bp: 0x1018 };
        let rule = |ip: u64| match ip {
            11 => Rule::StackPointer { cfa: 16, saved: None },
            100 => Rule::FramePointer,
            _ => Rule::End,
        };
        assert_eq!(walk(at, &copy, 128, rule), [11, 101, 201]);
        assert_eq!(walk(at, &copy, 2, rule), [11, 101]);
        assert_eq!(walk(at, &copy[..8], 128, rule), [11], "the copy ends");
        let round = |_| Rule::StackPointer { cfa: 0, saved: None };
        assert_eq!(walk(at, &copy, 128, round), [11], "a frame that does not grow ends it");
    }

    #[test]
    fn the_callers_of_our_own_code_are_known() {
        let binary = Binary::read(&std::env::current_exe().unwrap());
        if cfg!(target_arch = "x86_64") {
            assert!(binary.knows_callers());
            let (offset, length, _) = binary.segments[1];
            let rules = (offset..offset + length).step_by(97).map(|offset| binary.rule(offset));
            assert!(rules.filter(|rule| *rule != Rule::FramePointer).count() > 1000);
        }
        assert!(!Binary::read(Path::new("/nonexistent")).knows_callers());
    }
}
