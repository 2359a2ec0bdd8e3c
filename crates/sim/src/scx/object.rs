//! Compiled schedulers, and loading them.

use super::abi::{self, KptrDescription, MapDescription, MemberDescription, SchedExtOps};
use super::compile::CompileOptions;
use super::core::Core;
use super::error::ScxError;
use super::guard::Guard;
use super::kept;
use super::kfuncs::KfuncTable;
use super::loader::Library;
use super::map_scan;
use super::maps::Map;
use super::settings::{Global, Settings, is_part};
use std::ffi::CStr;
use std::mem::size_of;
use std::path::Path;
use std::sync::Arc;

/// Sources of one object whose maps are looked for.
const MOST_SOURCES: usize = 64;

/// A scheduler compiled for this machine. Any number of simulations can run it at once, each with its own variables.
#[derive(Clone)]
pub struct Object {
    bytes: Arc<[u8]>,
}

impl Object {
    /// FLSCHED, which needs no compiler: schedulers/flsched of this project.
    pub fn flsched() -> Self {
        Self { bytes: super::FLSCHED_OBJECT.into() }
    }

    /// Compiles the source of a scheduler, a file that includes `scx/common.bpf.h`. It is compiled once in a process, and again when one of the
    /// files that it came of has changed.
    ///
    /// # Errors
    /// Without a compiler, or when the source does not compile.
    pub fn compile(source_path: &Path, options: &CompileOptions) -> Result<Self, ScxError> {
        Ok(Self { bytes: kept::object(source_path, options)? })
    }

    /// An object that [`compile`](Self::compile) of the same version of the simulator has made.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { bytes: bytes.into() }
    }

    /// The compiled object, to be kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("bytes", &self.bytes.len()).finish()
    }
}

/// An object that has been loaded, with variables of its own.
pub(super) struct Loaded {
    library: Library,
}

impl Loaded {
    /// Loads a copy of the object.
    pub(super) fn new(object: &Object) -> Result<Self, ScxError> {
        let library = Library::load(object.bytes())?;
        let loaded = Self { library };
        loaded.check_layouts()?;
        let table: *mut KfuncTable = loaded.address("swtch_kernel")?.cast();
        // SAFETY: of this type, as the layouts agree.
        unsafe { table.write(KfuncTable::FUNCTIONS) };
        Ok(loaded)
    }

    /// The address of an exported variable or function.
    fn address(&self, name: &str) -> Result<*mut u8, ScxError> {
        let missing = || ScxError::NoSymbol { what: "global variable", name: name.to_owned() };
        self.library.symbol(name).map(|(address, _)| address).ok_or_else(missing)
    }

    /// The size in bytes of an exported symbol, so that nothing is written beyond a variable's end.
    fn symbol_bytes(&self, name: &str) -> Option<usize> {
        self.library.symbol(name).map(|(_, bytes)| bytes)
    }

    fn check_layouts(&self) -> Result<(), ScxError> {
        let expected = abi::description(size_of::<KfuncTable>());
        let wrong =
            || ScxError::load("it was compiled for another version of the simulator, or is not a scheduler");
        if self.symbol_bytes("swtch_description") != Some(size_of_val(&expected)) {
            return Err(wrong());
        }
        let found = self.address("swtch_description")?;
        // SAFETY: it has this size, as just checked.
        let agrees = unsafe { found.cast::<[u64; abi::DESCRIBED]>().read_unaligned() } == expected;
        if agrees { Ok(()) } else { Err(wrong()) }
    }

    /// The scheduler's callbacks.
    pub(super) fn ops(&self) -> Result<SchedExtOps, ScxError> {
        let missing = |_| ScxError::load("the source has no SCX_OPS_DEFINE");
        let ops: *const *const SchedExtOps = self.address("swtch_ops").map_err(missing)?.cast();
        // SAFETY: SCX_OPS_DEFINE defines it as a pointer to such a struct, and the layouts agree.
        Ok(unsafe { std::ptr::read(*ops) })
    }

    /// Sets the scheduler's variables on a machine with these CPUs; without a machine only checks those that hang on one.
    pub(super) fn set_globals(&self, settings: &Settings, cpus: Option<&[u32]>) -> Result<(), ScxError> {
        for (name, value) in &settings.globals {
            let missing = || ScxError::NoSymbol { what: "global variable of this size", name: name.clone() };
            let (address, size) = self.variable(name).ok_or_else(missing)?;
            if matches!(value, Global::Machine(_)) != cpus.is_some() {
                continue;
            }
            let bytes = value.bytes(size, cpus.unwrap_or_default()).ok_or_else(missing)?;
            // SAFETY: the variable is at least as long, and is in writable memory. The source map_scan.rs takes `const` from the
            // `volatile` variables, and the others are not exported for user space to set.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
        }
        Ok(())
    }

    /// Where a variable is, or a part of one (`topo_config.nr_cpus`), and its size in bytes.
    fn variable(&self, name: &str) -> Option<(*mut u8, usize)> {
        if !is_part(name) {
            return Some((self.address(name).ok()?, self.symbol_bytes(name)?));
        }
        (0..MOST_SOURCES).find_map(|number| {
            let table = map_scan::members_name(number);
            let members = self.entries(&table, |member: &MemberDescription| member.name.is_null()).ok()?;
            let is_it = |member: &&MemberDescription| {
                // SAFETY: a text of the table.
                unsafe { CStr::from_ptr(member.name) }.to_bytes() == name.as_bytes()
            };
            members.iter().find(is_it).map(|member| (member.at, member.bytes as usize))
        })
    }

    /// The entries of a table that map_scan.rs has written, without the last one, which is null; none where there is no such table.
    fn entries<T: Copy>(&self, table: &str, is_last: impl Fn(&T) -> bool) -> Result<Vec<T>, ScxError> {
        let Some(size) = self.symbol_bytes(table) else { return Ok(Vec::new()) };
        let entries: *const T = self.address(table)?.cast();
        // SAFETY: within the table, whose entries have this type, as the layouts agree.
        let all = (0..size / size_of::<T>()).map(|place| unsafe { entries.add(place).read() });
        Ok(all.take_while(|entry| !is_last(entry)).collect())
    }

    /// What ends the scheduler's callbacks, where it was compiled with it.
    fn guard(&self) -> Option<Guard> {
        let [state, guarded] = ["swtch_guard", "swtch_guarded"].map(|name| self.address(name).ok());
        // SAFETY: from guard.c, which compile.rs links to every scheduler; this is loaded as long as its core.
        Some(unsafe { Guard::new(state?, guarded?) })
    }

    /// Fills in what depends on the machine, and makes the maps.
    pub(super) fn attach(&self, core: &mut Core, hz: u64) -> Result<(), ScxError> {
        core.guard = self.guard();
        let words: *mut u32 = self.address("swtch_mask_words")?.cast();
        // SAFETY: of this type, as the layouts agree.
        unsafe { words.write(core.cpus.len().div_ceil(64) as u32) };
        if self.symbol_bytes("CONFIG_HZ") == Some(4) {
            let place: *mut u32 = self.address("CONFIG_HZ")?.cast();
            // SAFETY: a variable of four bytes that the loader has defined.
            unsafe { place.write(hz as u32) };
        }
        for number in 0..MOST_SOURCES {
            self.make_maps(core, &map_scan::table_name(number))?;
            self.find_kptrs(&map_scan::pointers_name(number))?;
        }
        Ok(())
    }

    /// Tells maps, which have been made, where their values point to objects of the kernel.
    fn find_kptrs(&self, table: &str) -> Result<(), ScxError> {
        for kptr in self.entries(table, |kptr: &KptrDescription| kptr.map.is_null())? {
            // SAFETY: the variable of a map of the same source, into which `make_maps` has written its address; nothing else uses the map.
            unsafe { (*kptr.map.cast::<*mut Map>().read_unaligned()).add_kptr(kptr.offset as usize) };
        }
        Ok(())
    }

    /// Makes the maps of a table, if it is there: a source without maps has none.
    fn make_maps(&self, core: &mut Core, table: &str) -> Result<(), ScxError> {
        for map in self.entries(table, |map: &MapDescription| map.map.is_null())? {
            // SAFETY: a text of the table.
            let name = unsafe { CStr::from_ptr(map.name) }.to_string_lossy().into_owned();
            let sizes = (map.key_bytes, map.value_bytes, map.max_entries);
            let made = Map::new(map.kind, sizes, core.cpus.len());
            let made = made.map_err(|problem| ScxError::load(format!("map '{name}': {problem}")))?;
            let made = Box::into_raw(Box::new(made));
            core.maps.push(made);
            // SAFETY: the variable of a map has at least one pointer, its type, which is never dereferenced.
            unsafe { map.map.cast::<*mut Map>().write_unaligned(made) };
        }
        Ok(())
    }

    /// Whether there is a program of this name.
    pub(super) fn has_program(&self, name: &str) -> Result<(), ScxError> {
        let found = self.symbol_bytes(name);
        found.map(|_| ()).ok_or_else(|| ScxError::NoSymbol { what: "program", name: name.to_owned() })
    }

    /// Runs a program that user space may call.
    pub(super) fn run(&self, core: &mut Core, name: &str, argument: &mut [u8]) -> Result<i32, ScxError> {
        let program = self.address(name)?;
        // SAFETY: a function of the scheduler, `int program(struct argument *)`, as SEC("syscall") asks for.
        let program =
            unsafe { std::mem::transmute::<*mut u8, unsafe extern "C" fn(*mut u8) -> i32>(program) };
        let argument = argument.as_mut_ptr();
        // SAFETY: as above; nothing here uses the core before it returns.
        let status = unsafe { core.guarded(name, || program(argument)) };
        // One that was ended has made the core fail, which says why.
        Ok(status.unwrap_or(0))
    }
}
