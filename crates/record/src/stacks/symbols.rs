//! Names of addresses: of the kernel and of files by blazesym, of code that a program writes itself by its `perf-PID.map`.

use super::processes::{Found, Processes};
use crate::sources::stacks::{NewStack, Rule};
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use swtch_trace::tables::StackReason;

/// What stands behind the name of a function of the kernel, as in other tools' folded stacks.
const KERNEL: &str = "_[k]";
/// Where the kernel enters an interrupt; what it interrupted is not the cause of what the interrupt does.
const INTERRUPTS: [&str; 5] =
    ["asm_sysvec_", "asm_common_interrupt", "el0t_64_irq", "el1h_64_irq", "do_softirq_own_stack"];

/// A stack by names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedStack {
    /// The names, the outermost first, divided by `;`.
    pub(crate) frames: String,
    /// The innermost function that is the program's own: not its C library's, nor its language's runtime.
    pub(crate) function: String,
    /// An interrupt did it, not the task.
    pub(crate) interrupt: bool,
    /// Code that the program wrote itself has no name yet.
    pub(crate) unnamed_code: bool,
}

/// Resolves addresses; each only once.
pub(crate) struct Symbols {
    symbolizer: Symbolizer,
    kernel: HashMap<u64, String>,
    files: HashMap<(usize, u64), Option<String>>,
    written: HashMap<u32, PerfMap>,
    /// Files, and the kernel, with frames that have no name.
    nameless: BTreeSet<String>,
    /// Code without a name that programs wrote themselves, by process and address.
    unnamed_code: HashSet<(u32, u64)>,
}

/// What names the code that programs write themselves.
const UNNAMED_CODE: &str = "code that programs write themselves; node --perf-basic-prof, python -X perf and \
                            java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit name it";

impl Symbols {
    pub(crate) fn new() -> Self {
        let builder = Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false);
        Self {
            symbolizer: builder.enable_auto_reload(false).build(),
            kernel: HashMap::new(),
            files: HashMap::new(),
            written: HashMap::new(),
            nameless: BTreeSet::new(),
            unnamed_code: HashSet::new(),
        }
    }

    /// The names of a stack's addresses, which are given the innermost first.
    pub(crate) fn name(&mut self, processes: &mut Processes, stack: &NewStack) -> NamedStack {
        let NewStack { pid, at_ns, reason, user, kernel, .. } = stack;
        let (pid, at_ns, reason) = (*pid, *at_ns, *reason);
        let mut inside: Vec<String> = kernel.iter().map(|address| self.of_kernel(*address)).collect();
        // What looks at the stack stands on it too.
        let tracing = |name: &String| {
            ["bpf_", "__bpf_", "__traceiter_", "trace_", "perf_trace_", "__schedule_", "__SCT__"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        let first = inside.iter().position(|name| !tracing(name)).unwrap_or(inside.len());
        inside.drain(..first);
        let entry = inside.iter().position(|name| INTERRUPTS.iter().any(|start| name.starts_with(start)));
        let entry = entry.filter(|_| reason == StackReason::Wake);
        let interrupted = entry.is_some();
        let mut names = inside;
        if let Some(entry) = entry {
            names.truncate(entry + 1);
        }
        let (mut own, mut unnamed_code) = (None, false);
        if !interrupted {
            for (index, address) in user.iter().enumerate() {
                // The call itself, not what follows it: that may be another function.
                let call = if index == 0 { *address } else { address.saturating_sub(1) };
                let found = processes.find(pid, call, at_ns);
                if found == Found::Nothing {
                    break;
                }
                let name = self.of_user(processes, pid, call, found);
                unnamed_code |= self.unnamed_code.contains(&(pid, call));
                let file = match found {
                    Found::File { file, .. } => Some(processes.files[file].name()),
                    _ => None,
                };
                let rank = rank(&name, file);
                if own.as_ref().is_none_or(|(best, _): &(u8, String)| rank > *best) {
                    own = Some((rank, name.clone()));
                }
                names.push(name);
            }
        }
        let function = own.map(|(_, name)| name).or_else(|| innermost(&names)).unwrap_or_default();
        names.reverse();
        NamedStack { frames: names.join(";"), function, interrupt: interrupted, unnamed_code }
    }

    /// What has frames without a name.
    pub(crate) fn nameless(&self) -> Vec<&str> {
        let code = (!self.unnamed_code.is_empty()).then_some(UNNAMED_CODE);
        self.nameless.iter().map(String::as_str).chain(code).collect()
    }

    fn of_kernel(&mut self, address: u64) -> String {
        if let Some(name) = self.kernel.get(&address) {
            return name.clone();
        }
        let source = Source::Kernel(Kernel { vmlinux: blazesym::MaybeDefault::None, ..Kernel::default() });
        // The call itself.
        let found = self.symbolizer.symbolize_single(&source, Input::AbsAddr(address.saturating_sub(1)));
        let name = if let Ok(Symbolized::Sym(symbol)) = found {
            format!("{}{KERNEL}", clean(&symbol.name))
        } else {
            self.nameless.insert("the kernel (kernel.kptr_restrict hides its addresses)".to_owned());
            format!("[kernel]{KERNEL}")
        };
        self.kernel.insert(address, name.clone());
        name
    }

    fn of_user(&mut self, processes: &mut Processes, pid: u32, address: u64, found: Found) -> String {
        let Found::File { file, offset } = found else { return self.of_written(processes, pid, address) };
        if !self.files.contains_key(&(file, offset)) {
            let source = Source::Elf(Elf::new(processes.files[file].readable_at()));
            let symbol = match self.symbolizer.symbolize_single(&source, Input::FileOffset(offset)) {
                Ok(Symbolized::Sym(symbol)) => Some(clean(&symbol.name)),
                _ => None,
            };
            self.files.insert((file, offset), symbol);
        }
        if let Some(Some(name)) = self.files.get(&(file, offset)) {
            return name.clone();
        }
        let mapped = &mut processes.files[file];
        self.nameless.insert(mapped.path.clone());
        let id = mapped.binary().build_id.clone();
        let id = id.map_or_else(String::new, |id| format!(" [build id {id}]"));
        format!("{}+{offset:#x}{id}", mapped.name())
    }

    /// How the caller of code that a program wrote itself is found: CPython's trampolines have no frame pointer, but a frame of a fixed size.
    pub(crate) fn rule_of_written(&mut self, processes: &mut Processes, pid: u32, address: u64) -> Rule {
        let map = self.map_with(processes, pid, address);
        let mut code = [0; 4];
        let read = map.start(address).and_then(|start| {
            let memory = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
            memory.read_exact_at(&mut code, start).ok()
        });
        match (read, code) {
            // sub $BYTES, %rsp
            (Some(()), [0x48, 0x83, 0xec, bytes @ ..0x80]) => {
                Rule::StackPointer { cfa: i32::from(bytes) + 8, saved: None }
            }
            _ => Rule::FramePointer,
        }
    }

    /// The file in which a program names the code that it wrote itself. It is read again when it does not have the address and has grown.
    fn map_with(&mut self, processes: &mut Processes, pid: u32, address: u64) -> &PerfMap {
        let map = self.written.entry(pid).or_default();
        if map.found(address).is_none()
            && let Some(path) = processes.map_of(pid)
        {
            map.read(&path);
        }
        map
    }

    fn of_written(&mut self, processes: &mut Processes, pid: u32, address: u64) -> String {
        let name = self.map_with(processes, pid, address).name(address).map(str::to_owned);
        if let Some(name) = name {
            self.unnamed_code.remove(&(pid, address));
            return name;
        }
        self.unnamed_code.insert((pid, address));
        "[no name]".to_owned()
    }
}

/// Names of code that a program wrote itself: by where it begins, its length and its name.
#[derive(Debug, Default)]
struct PerfMap {
    names: BTreeMap<u64, (u64, String)>,
    bytes: usize,
}

impl PerfMap {
    fn read(&mut self, path: &Path) {
        // It is asked for each address without a name, again and again.
        if fs::metadata(path).is_ok_and(|file| file.len() == self.bytes as u64) {
            return;
        }
        let text = fs::read(path).unwrap_or_default();
        // Only what is new; a line that is not complete yet is read the next time.
        let from = if text.len() > self.bytes { self.bytes } else { 0 };
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(from, |place| place + 1).max(from);
        for line in String::from_utf8_lossy(&text[from..end]).lines() {
            let mut words = line.splitn(3, ' ');
            let mut hex = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
            if let (Some(start), Some(length), Some(name)) = (hex(), hex(), words.next()) {
                // Code is written where other code was before: the latest counts.
                self.names.insert(start, (length, clean(name)));
            }
        }
        self.bytes = end;
    }

    fn name(&self, address: u64) -> Option<&str> {
        self.found(address).map(|(_, name)| name)
    }

    fn start(&self, address: u64) -> Option<u64> {
        self.found(address).map(|(start, _)| start)
    }

    fn found(&self, address: u64) -> Option<(u64, &str)> {
        let (start, (length, name)) = self.names.range(..=address).next_back()?;
        (address - start < *length).then_some((*start, name))
    }
}

/// The innermost function that does more than switch or wake.
fn innermost(names: &[String]) -> Option<String> {
    const OF_THE_SCHEDULER: [&str; 6] = [
        "schedule_[k]",
        "io_schedule_[k]",
        "__schedule_[k]",
        "try_to_wake_up_[k]",
        "wake_up_process_[k]",
        "default_wake_function_[k]",
    ];
    names.iter().find(|name| !OF_THE_SCHEDULER.contains(&name.as_str())).or(names.first()).cloned()
}

/// Names stand between `;`, in lines; those of templates may be longer than a page.
fn clean(name: &str) -> String {
    const LONGEST: usize = 240;
    swtch_units::shortened(&name.replace(';', ":").replace(['\n', '\t'], " "), LONGEST)
}

/// The method that a virtual machine for Java compiled: `void Server.handle(int)`, without its type and arguments.
fn java_method(name: &str) -> Option<&str> {
    let (before, _) = name.strip_suffix(')')?.split_once('(')?;
    let (_, method) = before.rsplit_once(' ')?;
    method.contains('.').then_some(method)
}

/// How much a function is the program's own. Of the C library or a language's runtime it is 0, of an interpreter 1, of the program 2, of
/// its script 3.
fn rank(name: &str, file: Option<&str>) -> u8 {
    const SCRIPTS: [&str; 6] = ["py::", "JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
    const RUNTIMES: [&str; 16] = [
        "runtime.",
        "syscall.",
        "internal/",
        "sync.",
        "time.",
        "os.",
        "std::",
        "core::",
        "alloc::",
        "<std::",
        "<core::",
        "<alloc::",
        "__rust",
        "_start",
        "poll.",
        "golang.org/x/sys/",
    ];
    const LIBRARIES: [&str; 9] =
        ["libc.", "libc-", "ld-", "libpthread", "libstdc++", "libgcc_s", "libm.", "[vdso]", "linux-vdso"];
    const INTERPRETERS: [&str; 10] =
        ["python", "libpython", "node", "libnode", "java", "libjvm", "libjli", "libjava", "ruby", "libuv"];
    const OF_JAVA: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
    let begins = |text: &str, starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    if begins(name, &SCRIPTS) && !name.contains("node:internal") && !name.contains("<frozen ") {
        return 3;
    }
    if file.is_none()
        && let Some(method) = java_method(name)
    {
        return if begins(method, &OF_JAVA) { 1 } else { 3 };
    }
    match file {
        Some(file) if begins(file, &LIBRARIES) || begins(name, &RUNTIMES) => 0,
        Some(file) if begins(file, &INTERPRETERS) => 1,
        Some(_) => 2,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::stacks::Registers;

    #[test]
    fn a_map_names_what_lies_in_it_and_is_read_on() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut map = PerfMap::default();
        fs::write(&file, "7f00 10 py::slow:/a;b.py\n7f20 8 old\n7f30 8 cut o").unwrap();
        map.read(file.path());
        assert_eq!((map.name(0x7f0f), map.name(0x7f10)), (Some("py::slow:/a:b.py"), None));
        assert_eq!((map.name(0x7f20), map.name(0x7f30), map.name(0)), (Some("old"), None, None));
        fs::write(&file, "7f00 10 py::slow:/a;b.py\n7f20 8 old\n7f30 8 cut off\n7f20 8 new\n").unwrap();
        map.read(file.path());
        assert_eq!((map.name(0x7f20), map.name(0x7f37)), (Some("new"), Some("cut off")));
    }

    #[test]
    fn what_a_program_does_itself_is_told_from_what_it_runs_on() {
        let of = |name, file| rank(name, Some(file));
        assert_eq!(
            [of("read", "libc.so.6"), of("runtime.futex", "app"), of("std::thread::sleep", "app")],
            [0, 0, 0]
        );
        assert_eq!([of("_PyEval_Vector", "python3.12"), of("main.culprit", "app")], [1, 2]);
        assert_eq!(
            [
                rank("py::culprit:/app.py", None),
                rank("JS:*culprit /app.js:3", None),
                rank("Builtin:Call", None)
            ],
            [3, 3, 1]
        );
        assert_eq!(
            ["void Shop.pay(int)", "int java.lang.String.hashCode()", "StubRoutines (1)", "Interpreter"]
                .map(|name| rank(name, None)),
            [3, 1, 1, 1]
        );
        assert_eq!(of("JavaMain", "libjli.so"), 1);
    }

    #[test]
    fn our_own_function_is_named() {
        let mut processes = Processes::begin(0);
        let here = our_own_function_is_named as fn() as usize as u64 + 1;
        let stack = NewStack {
            key: [0; 32],
            pid: std::process::id(),
            comm: String::new(),
            reason: StackReason::Voluntary,
            at_ns: 0,
            registers: Registers::default(),
            user: vec![here],
            kernel: Vec::new(),
            copy: Vec::new(),
        };
        let named = Symbols::new().name(&mut processes, &stack);
        assert!(named.frames.contains("our_own_function_is_named") && !named.interrupt, "{named:?}");
        assert_eq!(named.function, named.frames);
    }
}
