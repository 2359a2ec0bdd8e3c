//! From a compiled object to a scheduler that runs: open, set, load, attach, and the way back.

use crate::counters;
use crate::ending::Ending;
use crate::error::SchedulerError;
use crate::exit;
use crate::hotplug::hotplug_sequence;
use crate::layout::{Layout, Place, map_of_section};
use crate::program::Source;
use crate::verifier;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64};
use libbpf_rs::{
    Link, Map, MapCore, MapFlags, MapType, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel,
    ProgramType, set_print,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use swtch_sched_ext::{CpuCounters, ExitInfo, Status, Verified};

/// Bytes for the state of the queues that the kernel writes when an error ends a scheduler; the kernel's own default.
const DUMP_BYTES: u32 = 32768;
/// A program of scx_cargo's headers that only finds out what kernels before 6.18 do; schedulers here do not ask.
const NOT_LOADED: &str = "scx_lib_init_probe";
/// Begins the names of variables that stand for constants of the running kernel (scx/enums.autogen.bpf.h of scx_cargo 1.1.4).
const KERNEL_CONSTANT: &str = "__SCX_";

/// An opened object, whose variables can still be set.
#[derive(Debug)]
pub struct Settings {
    layout: Layout,
    open: OpenObject,
    exit_kinds: BTreeMap<i32, String>,
}

impl Settings {
    /// Opens a scheduler's object and sets what every scheduler needs: the kernel's constants, the number of CPUs' comings and goings, room
    /// for a dump.
    ///
    /// # Errors
    /// When object and kernel do not fit.
    pub fn open(source: &Source) -> Result<Self, SchedulerError> {
        set_print(Some((PrintLevel::Warn, warn)));
        let layout = Layout::of(source.name, source.object)?;
        let open = ObjectBuilder::default()
            .name(source.name)
            .and_then(|builder| builder.open_memory(source.object))
            .map_err(SchedulerError::bpf(format!("open the object of {}", source.name)))?;
        let mut settings = Self { layout, open, exit_kinds: BTreeMap::new() };
        settings.leave_out(NOT_LOADED);
        settings.set_kernel_constants()?;
        if settings.layout.keeps_exit_info() {
            settings.set_u32("uei_dump_len", DUMP_BYTES)?;
            settings
                .map("uei_dump")?
                .set_value_size(DUMP_BYTES)
                .map_err(SchedulerError::bpf("make room for the dump"))?;
            settings.set_ops("exit_dump_len", &DUMP_BYTES.to_ne_bytes())?;
        }
        let sequence = hotplug_sequence(Path::new("/"))?;
        settings.set_ops("hotplug_seq", &sequence.to_ne_bytes())?;
        Ok(settings)
    }

    /// Sets a number of 64 bits.
    ///
    /// # Errors
    /// When there is no such variable of this size.
    pub fn set_u64(&mut self, name: &str, value: u64) -> Result<(), SchedulerError> {
        self.set(name, &value.to_ne_bytes())
    }

    /// Sets a number of 32 bits.
    ///
    /// # Errors
    /// As [`set_u64`](Self::set_u64).
    pub fn set_u32(&mut self, name: &str, value: u32) -> Result<(), SchedulerError> {
        self.set(name, &value.to_ne_bytes())
    }

    /// Sets a constant by its name, whatever its size.
    ///
    /// # Errors
    /// When there is no such number among the constants (the error lists them), or it has no room for the value.
    pub fn set_constant(&mut self, name: &str, value: i128) -> Result<(), SchedulerError> {
        let names = self.layout.constants();
        if !names.contains(&name) {
            let there = if names.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", names.join(", "))
            };
            return Err(SchedulerError::Constant(format!("no constant {name} can be set; {there}")));
        }
        let bytes = self.layout.variable(name)?.1.bytes;
        let bits = bytes * 8;
        // As a number with a sign or without one.
        if !(-(1_i128 << (bits - 1))..1_i128 << bits).contains(&value) {
            return Err(SchedulerError::Constant(format!(
                "{value} does not fit into {name}, which has {bits} bits"
            )));
        }
        // The low bytes are first on all machines that sched_ext runs on, and these are the constant's.
        self.set(name, &value.to_le_bytes()[..bytes])
    }

    /// Sets an array of bytes, or the beginning of one.
    ///
    /// # Errors
    /// When there is no such variable, or it is shorter.
    pub fn set_bytes(&mut self, name: &str, value: &[u8]) -> Result<(), SchedulerError> {
        let (section, place) = self.layout.variable(name)?;
        if value.len() > place.bytes {
            return Err(SchedulerError::missing(format!("room for {} bytes in {name}", value.len())));
        }
        let (section, place) = (section.to_owned(), Place { bytes: value.len(), ..place });
        write(&mut section_of(&mut self.open, &section)?, place, value, name)
    }

    /// Sets how many entries a map has.
    ///
    /// # Errors
    /// When there is no map of this name, or the kernel's limit is exceeded.
    pub fn set_entries(&mut self, name: &str, entries: u32) -> Result<(), SchedulerError> {
        let found = self.open.maps_mut().find(|map| map.name() == name);
        let mut map = found.ok_or_else(|| SchedulerError::missing(format!("map {name}")))?;
        map.set_max_entries(entries).map_err(SchedulerError::bpf(format!("set the size of {name}")))
    }

    /// Leaves a program out: it is not loaded.
    pub fn leave_out(&mut self, program: &str) {
        for mut program in self.open.progs_mut().filter(|one| one.name() == program) {
            program.set_autoload(false);
        }
    }

    /// Lets the scheduler have only tasks of the policy SCHED_EXT.
    ///
    /// # Errors
    /// When the kernel knows no such mode.
    pub fn set_partial(&mut self) -> Result<(), SchedulerError> {
        let flag = kernel_constants()?.remove("SCX_OPS_SWITCH_PARTIAL");
        let flag = flag.ok_or_else(|| SchedulerError::missing("partial mode in this kernel"))?;
        let place = self.ops_field("flags")?;
        let mut map = ops_map(&mut self.open)?;
        let value = map.initial_value_mut().ok_or_else(|| SchedulerError::missing("sched_ext_ops"))?;
        let field = &mut value[place.offset..place.offset + 8];
        let old = u64::from_ne_bytes(field.try_into().unwrap_or_default());
        field.copy_from_slice(&(old | flag).to_ne_bytes());
        Ok(())
    }

    /// Loads: the kernel verifies the programs.
    ///
    /// # Errors
    /// When it refuses one.
    pub fn load(self) -> Result<Loaded, SchedulerError> {
        let Self { layout, open, exit_kinds } = self;
        let object = open.load().map_err(SchedulerError::bpf("load the scheduler into the kernel"))?;
        Ok(Loaded { layout, object, exit_kinds })
    }

    /// Loads, and says what the verifier made of each program; nothing is attached.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn verify(mut self) -> Result<Vec<Verified>, SchedulerError> {
        for mut program in self.open.progs_mut() {
            program.set_log_level(verifier::STATISTICS_LEVEL);
        }
        verifier::listening(|| self.load().map(drop))
    }

    fn set(&mut self, name: &str, value: &[u8]) -> Result<(), SchedulerError> {
        let (section, place) = self.layout.variable(name)?;
        let section = section.to_owned();
        write(&mut section_of(&mut self.open, &section)?, place, value, name)
    }

    fn map(&mut self, variable: &str) -> Result<OpenMapMut<'_>, SchedulerError> {
        let section = self.layout.variable(variable)?.0.to_owned();
        section_of(&mut self.open, &section)
    }

    fn ops_field(&self, name: &str) -> Result<Place, SchedulerError> {
        let found = self.layout.ops.get(name).copied();
        found.ok_or_else(|| SchedulerError::missing(format!("field {name} of sched_ext_ops")))
    }

    fn set_ops(&mut self, name: &str, value: &[u8]) -> Result<(), SchedulerError> {
        let place = self.ops_field(name)?;
        write(&mut ops_map(&mut self.open)?, place, value, name)
    }

    fn set_kernel_constants(&mut self) -> Result<(), SchedulerError> {
        let constants = kernel_constants()?;
        let names: Vec<String> = self.layout.beginning_with(KERNEL_CONSTANT).map(str::to_owned).collect();
        for name in names {
            // What this kernel does not have stays 0, as schedulers expect (compat.bpf.h).
            if let Some(value) = constants.get(&name[2..]) {
                self.set_u64(&name, *value)?;
            }
        }
        let kinds = constants.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("SCX_EXIT_")?;
            Some((i32::try_from(*value).ok()?, name.to_lowercase()))
        });
        // Sizes have names that begin alike.
        self.exit_kinds = kinds.filter(|(_, name)| !name.ends_with("_len")).collect();
        Ok(())
    }
}

/// The enumerators of the kernel's sched_ext by name.
fn kernel_constants() -> Result<BTreeMap<String, u64>, SchedulerError> {
    let btf = Btf::from_vmlinux().map_err(SchedulerError::bpf("read the kernel's types (BTF)"))?;
    let mut constants = BTreeMap::new();
    let mut note = |name: Option<&std::ffi::OsStr>, value: u64| {
        let name = name.map(|name| name.to_string_lossy()).filter(|name| name.starts_with("SCX_"));
        constants.extend(name.map(|name| (name.into_owned(), value)));
    };
    for choice in btf.type_by_kind::<Enum<'_>>() {
        choice.iter().for_each(|member| note(member.name, member.value as u64));
    }
    for choice in btf.type_by_kind::<Enum64<'_>>() {
        choice.iter().for_each(|member| note(member.name, member.value as u64));
    }
    Ok(constants)
}

/// libbpf's warnings, the verifier's complaints among them; what it says besides is of no use to a user.
#[expect(clippy::needless_pass_by_value, reason = "the signature is libbpf's")]
fn warn(_level: PrintLevel, text: String) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

/// The map of a data section: libbpf puts the object's name in front of those that every object has.
fn section_of<'a>(open: &'a mut OpenObject, section: &str) -> Result<OpenMapMut<'a>, SchedulerError> {
    let found = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(section));
    found.ok_or_else(|| SchedulerError::missing(format!("section {section}")))
}

fn ops_map(open: &mut OpenObject) -> Result<OpenMapMut<'_>, SchedulerError> {
    let found = open.maps_mut().find(|map| map.map_type() == MapType::StructOps);
    found.ok_or_else(|| SchedulerError::missing("sched_ext_ops"))
}

fn write(map: &mut OpenMapMut<'_>, place: Place, value: &[u8], name: &str) -> Result<(), SchedulerError> {
    let room = map.initial_value_mut().and_then(|all| all.get_mut(place.offset..place.offset + place.bytes));
    match room {
        Some(room) if room.len() == value.len() => {
            room.copy_from_slice(value);
            Ok(())
        }
        _ => Err(SchedulerError::missing(format!("{name} of {} bytes", value.len()))),
    }
}

/// A scheduler in the kernel that does not run yet.
#[derive(Debug)]
pub struct Loaded {
    layout: Layout,
    object: Object,
    exit_kinds: BTreeMap<i32, String>,
}

impl Loaded {
    /// Makes it schedule; returns when all its tasks are its own, after 0.5 to 1.5 s.
    ///
    /// # Errors
    /// When the kernel refuses, as it does when another is loaded or a CPU has come or gone since the object was opened.
    pub fn attach(mut self) -> Result<Running, SchedulerError> {
        let mut ops = self.object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let ops = ops.as_mut().ok_or_else(|| SchedulerError::missing("sched_ext_ops"))?;
        let link = ops.attach_struct_ops().map_err(SchedulerError::bpf("attach the scheduler"))?;
        let Self { layout, object, exit_kinds } = self;
        let ending = Ending::of(&layout, &object);
        Ok(Running { layout, object, exit_kinds, ending, link: Some(link), others: RefCell::default() })
    }
}

/// A scheduler that runs until it is detached or dropped, or the kernel ends it.
#[derive(Debug)]
pub struct Running {
    layout: Layout,
    object: Object,
    exit_kinds: BTreeMap<i32, String>,
    ending: Option<Ending>,
    link: Option<Link>,
    /// Programs next to the scheduler's callbacks.
    others: RefCell<Vec<Link>>,
}

impl Running {
    /// A map of the scheduler's.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn map(&self, name: &str) -> Result<Map<'_>, SchedulerError> {
        let found = self.object.maps().find(|map| map.name() == name);
        found.ok_or_else(|| SchedulerError::missing(format!("map {name}")))
    }

    /// Attaches a program that is not one of the scheduler's callbacks, until the scheduler ends.
    ///
    /// # Errors
    /// When there is none of this name, or the kernel refuses.
    pub fn attach_program(&self, name: &str) -> Result<(), SchedulerError> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| SchedulerError::missing(format!("program {name}")))?;
        let link = program.attach().map_err(SchedulerError::bpf(format!("attach {name}")))?;
        self.others.borrow_mut().push(link);
        Ok(())
    }

    /// Attaches every program that is neither a callback nor called by others, by its section, until the scheduler ends.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn attach_others(&self) -> Result<(), SchedulerError> {
        let is_called = |kind: ProgramType| matches!(kind, ProgramType::StructOps | ProgramType::Syscall);
        let others =
            self.object.progs_mut().filter(|program| program.autoload() && !is_called(program.prog_type()));
        for program in others {
            let name = program.name().to_string_lossy().into_owned();
            let link = program.attach().map_err(SchedulerError::bpf(format!("attach {name}")))?;
            self.others.borrow_mut().push(link);
        }
        Ok(())
    }

    /// The counters of every CPU; none where the scheduler keeps none.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn counters(&self) -> Result<Vec<CpuCounters>, SchedulerError> {
        let Some(fields) = self.layout.value("counters") else { return Ok(Vec::new()) };
        let values = self
            .map("counters")?
            .lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(SchedulerError::bpf("read the counters"))?;
        Ok(counters::parse(fields, &values.unwrap_or_default()))
    }

    /// The kernel's account of the end; `None` while it runs.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn exit_info(&self) -> Result<Option<ExitInfo>, SchedulerError> {
        if !self.layout.keeps_exit_info() {
            return Ok(None);
        }
        let (record, dump) = (self.variable("uei")?, self.variable("uei_dump")?);
        Ok(exit::parse(&self.layout.exit_info, &record, &dump, &self.exit_kinds))
    }

    /// Whether the kernel has ended it: by its account, or, where the scheduler keeps none, by the kernel's state.
    ///
    /// # Errors
    /// When neither can be read.
    pub fn is_over(&self) -> Result<bool, SchedulerError> {
        if let Some(ending) = &self.ending {
            return Ok(ending.has_come());
        }
        if self.layout.keeps_exit_info() {
            return Ok(self.exit_info()?.is_some());
        }
        Ok(!Status::read(Path::new("/")).is_loaded())
    }

    /// Ends it: returns when all tasks are back with the kernel's own scheduler.
    pub fn detach(&mut self) {
        self.others.borrow_mut().clear();
        self.link = None;
    }

    /// What a variable holds now; the dump has grown since it was compiled.
    fn variable(&self, name: &str) -> Result<Vec<u8>, SchedulerError> {
        let (section, place) = self.layout.variable(name)?;
        let map = map_of_section(&self.object, section)
            .ok_or_else(|| SchedulerError::missing(format!("section {section}")))?;
        let all = map
            .lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(SchedulerError::bpf(format!("read {name}")))?
            .unwrap_or_default();
        let bytes = if name == "uei_dump" { DUMP_BYTES as usize } else { place.bytes };
        Ok(all.get(place.offset..place.offset + bytes).unwrap_or_default().to_vec())
    }
}
