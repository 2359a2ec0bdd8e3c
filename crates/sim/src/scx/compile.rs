//! Compiles a scheduler's source natively.

use super::block_sizes;
use super::division;
use super::error::ScxError;
use super::map_scan;
use super::package::Package;
use super::rule;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The headers by which a source compiles, by path.
const HEADERS: [(&str, &str); 22] = [
    ("swtch/types.h", include_str!("include/swtch/types.h")),
    ("swtch/kernel.h", include_str!("include/swtch/kernel.h")),
    ("swtch/kfuncs.h", include_str!("include/swtch/kfuncs.h")),
    ("swtch/cpumask.h", include_str!("include/swtch/cpumask.h")),
    ("swtch/cgroups.h", include_str!("include/swtch/cgroups.h")),
    ("swtch/programs.h", include_str!("include/swtch/programs.h")),
    ("swtch/helpers.h", include_str!("include/swtch/helpers.h")),
    ("scx/common.bpf.h", include_str!("include/scx/common.bpf.h")),
    ("scx/compat.bpf.h", include_str!("include/scx/compat.bpf.h")),
    ("scx/enums.bpf.h", include_str!("include/scx/enums.bpf.h")),
    ("scx/percpu.bpf.h", include_str!("include/scx/percpu.bpf.h")),
    ("scx/user_exit_info.h", include_str!("include/scx/user_exit_info.h")),
    ("scx/user_exit_info.bpf.h", include_str!("include/scx/user_exit_info.bpf.h")),
    ("lib/alloc/bpf_helpers_local.h", include_str!("include/lib/alloc/bpf_helpers_local.h")),
    ("lib/pmu.h", include_str!("include/lib/pmu.h")),
    ("bpf_experimental.h", include_str!("include/bpf_experimental.h")),
    ("bpf_arena_common.bpf.h", include_str!("include/bpf_arena_common.bpf.h")),
    ("bpf_arena_spin_lock.h", include_str!("include/bpf_arena_spin_lock.h")),
    ("vmlinux.h", include_str!("include/vmlinux.h")),
    ("bpf/bpf_helpers.h", include_str!("include/bpf/bpf_helpers.h")),
    ("bpf/bpf_tracing.h", include_str!("include/bpf/bpf_tracing.h")),
    ("bpf/bpf_core_read.h", include_str!("include/bpf/bpf_core_read.h")),
];

/// How a source is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompileOptions {
    /// The compiler; without it `$CC`, clang-19, clang, cc or gcc, the first that is there.
    pub compiler: Option<String>,
    /// Directories in which included files are looked for too, besides the source's own.
    pub include_folders: Vec<PathBuf>,
    /// Macros: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Parts of variables that can be set then, as they are written in C: `topo_config.nr_cpus`, `domains[0].id` ([`Settings::members`](super::Settings::members)).
    pub members: Vec<String>,
}

/// A shared object, and the files that it was compiled from.
pub(super) struct Compiled {
    pub(super) bytes: Vec<u8>,
    /// Sources and what they include, without the headers of the simulator itself.
    pub(super) files: Vec<PathBuf>,
}

/// Compiles a source, and the others of its package, into a shared object.
pub(super) fn compile(
    source_path: &Path,
    package: &Package,
    options: &CompileOptions,
) -> Result<Compiled, ScxError> {
    let compiler = compiler(options)?;
    // Read first: a compiler's message about a missing file is hard to tell from other trouble.
    std::fs::metadata(source_path).map_err(ScxError::io(format!("read {}", source_path.display())))?;
    let folder = tempfile::tempdir().map_err(ScxError::io("make a scratch directory"))?;
    write_headers(folder.path())?;
    let mut sources = vec![source_path];
    sources.extend(package.others.iter().map(PathBuf::as_path));
    let tools = Tools { compiler: &compiler, options, package, folder: folder.path() };
    let mut objects = Vec::with_capacity(sources.len() + 1);
    let mut files = Vec::new();
    for (number, source) in sources.into_iter().enumerate() {
        objects.push(tools.compile(source, number)?);
        files.extend(tools.files_of(number)?);
    }
    let [guard, object] = ["guard.o", "scheduler.so"].map(|name| folder.path().join(name));
    succeed(&compiler, source_path, &mut from_input(&compiler, "c", "-c", &guard), GUARD)?;
    objects.push(guard);
    // Without the option for counting: clang would link a run-time library of its own.
    let mut last = Command::new(&compiler);
    succeed(&compiler, source_path, last.args(LINK_FLAGS).args(&objects).arg("-o").arg(&object), "")?;
    let bytes = std::fs::read(&object).map_err(ScxError::io(READ_BACK))?;
    Ok(Compiled { bytes, files })
}

const READ_BACK: &str = "read what the compiler wrote";

/// What every source of an object is compiled with.
struct Tools<'a> {
    compiler: &'a str,
    options: &'a CompileOptions,
    package: &'a Package,
    /// Where the headers are, and where objects go.
    folder: &'a Path,
}

impl Tools<'_> {
    /// Compiles one of an object's sources, by its number; gives the place of what came of it.
    fn compile(&self, source_path: &Path, number: usize) -> Result<PathBuf, ScxError> {
        let mut first = Command::new(self.compiler);
        first.args(["-E", "-std=gnu17", "-O2", "-DSWTCH_SCAN"]).args(AS_IN_THE_KERNEL);
        first.args(["-MD", "-MT", rule::TARGET, "-MF"]).arg(self.rule_path(number));
        first.args(self.options.defines.iter().map(|define| format!("-D{define}")));
        for include in std::iter::once(self.folder)
            .chain(self.options.include_folders.iter().map(PathBuf::as_path))
            .chain(self.package.include_folders.iter().map(PathBuf::as_path))
        {
            first.arg("-I").arg(include);
        }
        let preprocessed = succeed(self.compiler, source_path, first.arg(source_path), "")?;
        let text = String::from_utf8_lossy(&preprocessed.stdout);
        let text = map_scan::complete(&text, number, &self.options.members).map_err(|(name, problem)| {
            ScxError::Map { name, source_path: source_path.to_owned(), problem }
        })?;
        let [assembly, object] =
            ["s", "o"].map(|ending| self.folder.join(format!("source-{number}.{ending}")));
        let counting = if is_clang(self.compiler) { &CLANG_COUNTING[..] } else { &COUNTING[..] };
        let mut second = from_input(self.compiler, "c", "-S", &assembly);
        second.args(counting).args([
            "-DSWTCH_SEC(name)=__attribute__((used))",
            "-DSWTCH_KCONFIG=",
            "-DSWTCH_KPTR=",
        ]);
        succeed(self.compiler, source_path, &mut second, &text)?;
        let assembly = std::fs::read_to_string(&assembly).map_err(ScxError::io(READ_BACK))?;
        let mut third = from_input(self.compiler, "assembler", "-c", &object);
        succeed(
            self.compiler,
            source_path,
            &mut third,
            &division::without_exceptions(&block_sizes::told(&assembly)),
        )?;
        Ok(object)
    }

    /// The files that one of the sources was compiled from.
    fn files_of(&self, number: usize) -> Result<impl Iterator<Item = PathBuf>, ScxError> {
        let rule = std::fs::read_to_string(self.rule_path(number)).map_err(ScxError::io(READ_BACK))?;
        Ok(rule::files(&rule).into_iter().filter(|path| !path.starts_with(self.folder)))
    }

    fn rule_path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("source-{number}.d"))
    }
}

/// Runs a compiler, whose first complaint is the error where it fails.
fn succeed(
    compiler: &str,
    source_path: &Path,
    command: &mut Command,
    input: &str,
) -> Result<Output, ScxError> {
    let output = run(command, input)?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_error = |line: &&str| line.contains("error:");
    let first_line = text.lines().find(is_error).or(text.lines().next()).unwrap_or("no message").to_owned();
    let (compiler, source_path) = (compiler.to_owned(), source_path.to_owned());
    Err(ScxError::Compile { compiler, source_path, first_line, output: text })
}

/// What headers of others ask for: the part that the kernel gets, and loops without the verifier's limits.
const AS_IN_THE_KERNEL: [&str; 2] = ["-D__BPF__", "-DSCX_BPF_UNITTEST"];

/// Ends callbacks that go on for too long.
const GUARD: &str = include_str!("guard.c");

/// The flags of build.rs. Warnings are the author's business, except for an undeclared function, which would be missing when the object is
/// loaded (gcc's `-w` would silence that too).
const FLAGS: [&str; 6] = [
    "-std=gnu17",
    "-O2",
    "-fPIC",
    "-fno-strict-aliasing",
    "-fno-semantic-interposition",
    "-Werror=implicit-function-declaration",
];
/// Each source of an object has the functions of the headers: all are alike, and the first is taken.
const LINK_FLAGS: [&str; 3] = ["-shared", "-Wl,-Bsymbolic", "-Wl,--allow-multiple-definition"];
/// Every basic block calls guard.c. Loops are not unrolled, as they are not for BPF: a turn is a block at least. clang leaves out blocks that others imply, the only block of an endless loop among them, unless it is
/// forbidden.
const CLANG_COUNTING: [&str; 2] = ["-fsanitize-coverage=trace-pc,no-prune", "-fno-unroll-loops"];
/// gcc leaves out blocks without a statement, the only block of an empty loop among them: every loop gets one that does nothing. One of
/// `goto` alone is still left out.
const COUNTING: [&str; 4] = [
    "-fsanitize-coverage=trace-pc",
    "-fno-unroll-loops",
    "-Dwhile(...)=while (({ __asm__ volatile (\"\"); (__VA_ARGS__); }))",
    "-Dfor(...)=for (__VA_ARGS__) if (({ __asm__ volatile (\"\"); 0; })) {} else",
];

/// Compiles standard input: C to assembly (`-S`), or either of them to an object (`-c`).
fn from_input(compiler: &str, language: &str, stage: &str, out: &Path) -> Command {
    let mut command = Command::new(compiler);
    let flags = if language == "c" { &FLAGS[..] } else { &[] };
    command.args(flags).args([stage, "-x", language, "-", "-o"]).arg(out);
    command
}

/// Whether a compiler, which runs, is clang, whatever it is called.
fn is_clang(compiler: &str) -> bool {
    let output = Command::new(compiler).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("clang"))
}

fn compiler(options: &CompileOptions) -> Result<String, ScxError> {
    let set = std::env::var("CC").ok().filter(|name| !name.trim().is_empty());
    let candidates: Vec<String> = match options.compiler.clone().or(set) {
        Some(name) => vec![name],
        None => ["clang-19", "clang", "cc", "gcc"].map(str::to_owned).to_vec(),
    };
    let works = |name: &&String| {
        let mut command = Command::new(OsStr::new(name.as_str()));
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = candidates.iter().find(works).cloned();
    found.ok_or_else(|| ScxError::NoCompiler { tried: candidates.join(", ") })
}

fn write_headers(folder: &Path) -> Result<(), ScxError> {
    for (path, text) in HEADERS {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(ScxError::io("make a scratch directory"))?;
        }
        std::fs::write(&path, text).map_err(ScxError::io(format!("write {}", path.display())))?;
    }
    Ok(())
}

/// Runs a command with a text on its standard input.
fn run(command: &mut Command, input: &str) -> Result<Output, ScxError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    let error = || ScxError::io(format!("run {name}"));
    let mut child = command.spawn().map_err(error())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that gives up early closes its input; what it says then tells why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().map_err(error())
}
