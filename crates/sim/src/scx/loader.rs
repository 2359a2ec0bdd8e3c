//! Loads a compiled scheduler into this process. Each load has variables of its own. A statically linked program, which has no dynamic
//! loader, loads it too.
//!
//! A scheduler calls the table that it is given, its own functions, and the few of C that compilers call by themselves ([`runtime`]). So
//! no other library is searched. Constructors do not run: the objects' headers have none.

use super::error::ScxError;
use object::elf::{ProgramFlags, RelocationType};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object as _, ObjectSegment as _, ObjectSymbol as _, ObjectSymbolTable as _, RelocationFlags,
    RelocationTarget, SegmentFlags,
};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

type Elf<'a> = ElfFile64<'a, Endianness>;

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void;
    fn memcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
    fn bcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
    fn strlen(text: *const c_char) -> usize;
    // Never called from here: only their addresses are taken.
    fn snprintf();
    fn sprintf();
    fn strcmp();
    fn strncmp();
    fn _setjmp();
    fn longjmp();
    fn __stack_chk_fail();
}

/// The functions that the headers' built-in ones become, those that compilers call by themselves, and what guard.c calls.
fn runtime(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"memcpy" => memcpy as *const () as usize,
        b"memmove" => memmove as *const () as usize,
        b"memset" => memset as *const () as usize,
        b"memcmp" => memcmp as *const () as usize,
        b"bcmp" => bcmp as *const () as usize,
        b"strlen" => strlen as *const () as usize,
        b"snprintf" => snprintf as *const () as usize,
        b"sprintf" => sprintf as *const () as usize,
        b"strcmp" => strcmp as *const () as usize,
        b"strncmp" => strncmp as *const () as usize,
        b"_setjmp" => _setjmp as *const () as usize,
        b"longjmp" => longjmp as *const () as usize,
        b"__stack_chk_fail" => __stack_chk_fail as *const () as usize,
        _ => return None,
    })
}

/// How a relocation's value comes about.
enum Value {
    /// From where the object is.
    Base,
    /// From a symbol's address.
    Symbol,
}

/// The relocations of shared objects that use no variables of threads (ELF ABI supplements of x86-64,
/// AArch64 and RISC-V, tables of relocation types).
fn value_of(kind: RelocationType) -> Option<Value> {
    use object::elf::{
        R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_RELATIVE, R_RISCV_64,
        R_RISCV_JUMP_SLOT, R_RISCV_RELATIVE, R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT,
        R_X86_64_RELATIVE,
    };
    let (base, symbol) = if cfg!(target_arch = "aarch64") {
        (R_AARCH64_RELATIVE, [R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT])
    } else if cfg!(target_arch = "riscv64") {
        (R_RISCV_RELATIVE, [R_RISCV_64, R_RISCV_64, R_RISCV_JUMP_SLOT])
    } else {
        (R_X86_64_RELATIVE, [R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT])
    };
    if kind == base { Some(Value::Base) } else { symbol.contains(&kind).then_some(Value::Symbol) }
}

/// A shared object in memory.
pub(super) struct Library {
    base: *mut u8,
    bytes: usize,
    /// What it exports: where, and how many bytes.
    symbols: BTreeMap<Vec<u8>, (usize, usize)>,
}

impl Library {
    /// # Errors
    /// When it is not a shared object, or needs what it is not given.
    pub(super) fn load(object: &[u8]) -> Result<Self, ScxError> {
        let damaged = |error: object::Error| ScxError::load(format!("it is not a shared object: {error}"));
        let elf = Elf::parse(object).map_err(damaged)?;
        let page = rustix::param::page_size();
        let mut segments = Vec::new();
        for segment in elf.segments() {
            let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { continue };
            let (at, bytes) = (segment.address() as usize, segment.size() as usize);
            let data = segment.data().map_err(damaged)?;
            let end =
                at.checked_add(bytes).filter(|end| data.len() <= bytes && *end < isize::MAX as usize / 2);
            let end = end.ok_or_else(|| ScxError::load("a segment is longer in the file than in memory"))?;
            segments.push((at, end, data, p_flags));
        }
        let bytes =
            segments.iter().map(|(_, end, ..)| *end).max().unwrap_or(0).next_multiple_of(page).max(page);
        // SAFETY: a new mapping: nothing else has its address.
        let base = unsafe {
            mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let library = Self { base: base.map_err(system)?.cast(), bytes, symbols: exported(&elf, bytes) };
        for (at, _, data, _) in &segments {
            // SAFETY: the mapping ends behind the last segment, whose bytes in the file are no more than those in memory.
            unsafe { ptr::copy_nonoverlapping(data.as_ptr(), library.base.add(*at), data.len()) };
        }
        library.relocate(&elf)?;
        for (at, end, _, flags) in segments {
            let first = at - at % page;
            // SAFETY: whole pages of this mapping, which is not in use yet.
            unsafe { mprotect(library.base.add(first).cast(), end - first, protection(flags)) }
                .map_err(system)?;
        }
        Ok(library)
    }

    /// Fills in the addresses that depend on where it is.
    fn relocate(&self, elf: &Elf<'_>) -> Result<(), ScxError> {
        for (at, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let value = match (value_of(r_type), relocation.target()) {
                (Some(Value::Base), _) => self.base as usize,
                (Some(Value::Symbol), RelocationTarget::Symbol(index)) => self.resolve(elf, index)?,
                _ => return Err(ScxError::load(format!("it has a relocation of the kind {}", r_type.0))),
            };
            let at = at as usize;
            if at.checked_add(size_of::<usize>()).is_none_or(|end| end > self.bytes) {
                return Err(ScxError::load("a relocation lies outside of it"));
            }
            let value = value.wrapping_add_signed(relocation.addend() as isize);
            // SAFETY: within the mapping, as just checked, which is still writable.
            unsafe { self.base.add(at).cast::<usize>().write_unaligned(value) };
        }
        Ok(())
    }

    /// The address of a symbol that a relocation names.
    fn resolve(&self, elf: &Elf<'_>, index: object::SymbolIndex) -> Result<usize, ScxError> {
        let symbol = elf.dynamic_symbol_table().and_then(|table| table.symbol_by_index(index).ok());
        let symbol = symbol.ok_or_else(|| ScxError::load("a relocation names no symbol"))?;
        if !symbol.is_undefined() {
            return Ok((self.base as usize).wrapping_add(symbol.address() as usize));
        }
        let name = symbol.name_bytes().unwrap_or_default();
        let missing = || {
            let name = String::from_utf8_lossy(name);
            ScxError::load(format!("it needs '{name}', which the simulator does not provide"))
        };
        runtime(name).or(symbol.is_weak().then_some(0)).ok_or_else(missing)
    }

    /// The address of an exported variable or function, and its size in bytes.
    pub(super) fn symbol(&self, name: &str) -> Option<(*mut u8, usize)> {
        let (at, bytes) = self.symbols.get(name.as_bytes())?;
        // SAFETY: within the mapping, as `exported` checks.
        Some((unsafe { self.base.add(*at) }, *bytes))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: this mapping; what was taken from it does not outlive the library (see `Loaded`).
        let _ = unsafe { munmap(self.base.cast(), self.bytes) };
    }
}

fn system(error: rustix::io::Errno) -> ScxError {
    ScxError::io("load the compiled scheduler")(error.into())
}

/// The protection of a segment's pages, from its flags.
fn protection(flags: ProgramFlags) -> MprotectFlags {
    use object::elf::{PF_R, PF_W, PF_X};
    [(PF_R, MprotectFlags::READ), (PF_W, MprotectFlags::WRITE), (PF_X, MprotectFlags::EXEC)]
        .into_iter()
        .filter(|(flag, _)| flags.0 & flag.0 != 0)
        .fold(MprotectFlags::empty(), |all, (_, one)| all | one)
}

/// What an object exports within its `bytes`.
fn exported(elf: &Elf<'_>, bytes: usize) -> BTreeMap<Vec<u8>, (usize, usize)> {
    elf.dynamic_symbols()
        .filter(|symbol| !symbol.is_undefined())
        .filter_map(|symbol| {
            let (at, size) = (symbol.address() as usize, symbol.size() as usize);
            at.checked_add(size).filter(|end| *end <= bytes)?;
            Some((symbol.name_bytes().ok()?.to_vec(), (at, size)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scx::FLSCHED_OBJECT;

    #[test]
    fn symbols_have_their_sizes_and_every_load_its_own_variables() {
        let [one, other] = [(); 2].map(|()| Library::load(FLSCHED_OBJECT).unwrap());
        let (address, bytes) = one.symbol("slice_ns").unwrap();
        assert_eq!(bytes, 8);
        assert!(one.symbol("no_such_name").is_none());
        assert_ne!(address, other.symbol("slice_ns").unwrap().0);
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_refused_or_loaded_without_harm() {
        for end in (0..FLSCHED_OBJECT.len()).step_by(97) {
            let _ = Library::load(&FLSCHED_OBJECT[..end]);
        }
        for place in 0..400 {
            let mut object = FLSCHED_OBJECT.to_vec();
            object[place] ^= 0x40;
            let _ = Library::load(&object);
        }
        for object in [&FLSCHED_OBJECT[..60], b"\x7fELF", b""] {
            assert!(matches!(Library::load(object), Err(ScxError::Load { .. })));
        }
    }
}
