//! From a `.bpf.c` to an object, with the flags that `scx_cargo` 1.1.4 compiles schedulers with.

use crate::error::FileError;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// The headers of sched_ext and the kernel's types, `tar` and `zstd`.
const HEADERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/headers.tar.zst"));
/// The first that compiles instructions of version 4 (scx_cargo 1.1.4, clang_info.rs).
const LEAST_VERSION: u32 = 18;
/// The names under which distributions have it, after BPF_CLANG.
const COMPILERS: [&str; 6] = ["clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18"];

/// The object of a scheduler's source. What the compiler says goes to standard error.
pub(crate) fn compile(file: &Path) -> Result<Vec<u8>, FileError> {
    fs::File::open(file).map_err(FileError::of(file))?;
    let compiler = compiler()?;
    let temporary =
        tempfile::Builder::new().prefix("scx_file-").tempdir().map_err(FileError::of(&env::temp_dir()))?;
    let folder = of_one_length(temporary.path()).map_err(FileError::of(temporary.path()))?;
    let headers = folder.join("include");
    unpack(&headers).map_err(|source| FileError::Headers { path: headers.clone(), source })?;
    let object = folder.join("scheduler.bpf.o");
    let kernel_name = kernel_name();
    let mut command = Command::new(&compiler.program);
    command.args(["--target=bpf", "-mcpu=v4", "-g", "-O2", "-Wall", "-Wno-compare-distinct-pointer-types"]);
    command.args(["-Wno-unused-function", "-mllvm", "-disable-ldsx"]);
    if compiler.version >= 22 {
        // Jump tables, which kernels before 6.19 do not run.
        command.args(["-mllvm", "-disable-gotox"]);
    }
    command.arg(format!("-D__TARGET_ARCH_{kernel_name}")).arg(format!("-D__SCX_TARGET_ARCH_{kernel_name}"));
    for place in [PathBuf::from("arch").join(kernel_name), PathBuf::new(), PathBuf::from("bpf-compat")] {
        command.arg("-I").arg(headers.join(place));
    }
    for folder in system_folders(&compiler.program) {
        command.arg("-idirafter").arg(folder);
    }
    let source = fs::canonicalize(file).map_err(FileError::of(file))?;
    let (own, name) = (source.parent().unwrap_or(Path::new("/")), source.file_name().unwrap_or_default());
    let copies = folder.join("source");
    copy_with_headers(own, name, &copies).map_err(FileError::of(file))?;
    // Headers that are not beside it.
    let others = folder.join("others");
    symlink(own, &others).map_err(FileError::of(&others))?;
    command.arg("-I").arg(others);
    let mut headers_alike = OsString::from("-ffile-prefix-map=");
    headers_alike.push(&headers);
    headers_alike.push("=include");
    command.arg(headers_alike).arg("-fdebug-compilation-dir=.").current_dir(&copies);
    command.arg("-c").arg(name).arg("-o").arg(&object).stdin(Stdio::null());
    let status = command.status().map_err(FileError::of(&compiler.program))?;
    if !status.success() {
        return Err(FileError::DoesNotCompile { path: file.to_owned() });
    }
    fs::read(&object).map_err(FileError::of(&object))
}

/// Bytes of the name of the directory in which everything is compiled.
const NAME_BYTES: usize = 120;

/// A directory in another one, with a name of always the same length. The same source is to give the same bytes wherever it is, since guests that count
/// instructions see the difference, and the order of types in BTF changes with the lengths of files' names (clang 19).
fn of_one_length(within: &Path) -> io::Result<PathBuf> {
    let within = fs::canonicalize(within)?;
    let fill = NAME_BYTES.saturating_sub(within.as_os_str().len() + 1).max(1);
    let folder = within.join("x".repeat(fill));
    fs::create_dir(&folder)?;
    Ok(folder)
}

/// Copies a file, and the headers beside it.
fn copy_with_headers(own: &Path, name: &OsStr, into: &Path) -> io::Result<()> {
    fs::create_dir(into)?;
    fs::copy(own.join(name), into.join(name))?;
    for entry in fs::read_dir(own)? {
        let path = entry?.path();
        if let (Some("h"), Some(header), true) =
            (path.extension().and_then(OsStr::to_str), path.file_name(), path.is_file())
        {
            fs::copy(&path, into.join(header))?;
        }
    }
    Ok(())
}

/// As the kernel's headers call the machine that this program is for.
fn kernel_name() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        other => other,
    }
}

fn unpack(into: &Path) -> io::Result<()> {
    let mut packed = HEADERS;
    let unpacked = ruzstd::decoding::StreamingDecoder::new(&mut packed).map_err(io::Error::other)?;
    tar::Archive::new(unpacked).unpack(into)?;
    let libbpf = into.join("bpf");
    fs::create_dir_all(&libbpf)?;
    libbpf_sys::API_HEADERS.iter().try_for_each(|(name, text)| fs::write(libbpf.join(name), text))
}

struct Compiler {
    program: PathBuf,
    version: u32,
}

/// The one that BPF_CLANG names, or the first that is new enough.
fn compiler() -> Result<Compiler, FileError> {
    // It is started in another directory.
    let from_here = |path: PathBuf| {
        let is_path = path.components().count() > 1;
        if is_path { std::path::absolute(&path).unwrap_or(path) } else { path }
    };
    let named = env::var_os("BPF_CLANG").map(PathBuf::from).map(from_here);
    let programs = named.map_or_else(|| COMPILERS.map(PathBuf::from).to_vec(), |named| vec![named]);
    let mut found = Vec::new();
    for program in programs {
        match version(&program) {
            Some(version) if version >= LEAST_VERSION => return Ok(Compiler { program, version }),
            Some(version) => found.push(format!("{} is of version {version}", program.display())),
            None => {}
        }
    }
    let found = if found.is_empty() { "there is none on PATH".to_owned() } else { found.join(", ") };
    Err(FileError::NoCompiler { found })
}

fn version(program: &Path) -> Option<u32> {
    let said = Command::new(program).arg("--version").output().ok()?;
    parse_version(&String::from_utf8_lossy(&said.stdout))
}

/// `Debian clang version 19.1.7 (3)`.
fn parse_version(said: &str) -> Option<u32> {
    said.split_once("clang version ")?.1.split('.').next()?.parse().ok()
}

/// Where it looks for the C library's headers, which it does not for this target by itself.
fn system_folders(program: &Path) -> Vec<String> {
    let said = Command::new(program).args(["-v", "-E", "-"]).stdin(Stdio::null()).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stderr).into_owned()).unwrap_or_default();
    let lines = said.lines().skip_while(|line| *line != "#include <...> search starts here:").skip(1);
    lines.take_while(|line| *line != "End of search list.").map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_distributions_print() {
        assert_eq!(parse_version("Debian clang version 19.1.7 (3)\nTarget: x"), Some(19));
        assert_eq!(parse_version("clang version 18.0.0"), Some(18));
        assert_eq!(parse_version("gcc 14"), None);
    }

    #[test]
    fn a_source_is_the_same_object_in_every_directory() {
        if let Err(error) = compiler() {
            return eprintln!("SKIP a_source_is_the_same_object_in_every_directory: {error}");
        }
        let text = "#include <scx/common.bpf.h>\n#include \"own.h\"\nchar _license[] SEC(\"license\") = \"GPL\";\n\
            s32 BPF_STRUCT_OPS_SLEEPABLE(same_init)\n{\n\treturn scx_bpf_create_dsq(OWN, -1);\n}\n\
            SCX_OPS_DEFINE(same_ops, .init = (void *)same_init, .name = \"same\");\n";
        let objects = ["a", "a/name/that/is/very/much/longer/than/the/other/one/is"].map(|name| {
            let folder = tempfile::tempdir().unwrap();
            let own = folder.path().join(name);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("own.h"), "#define OWN 7\n").unwrap();
            fs::write(own.join("same.bpf.c"), text).unwrap();
            compile(&own.join("same.bpf.c")).unwrap()
        });
        assert!(objects[0] == objects[1]);
    }

    #[test]
    fn headers_of_the_kernel_of_sched_ext_and_of_libbpf_are_there() {
        let folder = tempfile::tempdir().unwrap();
        unpack(folder.path()).unwrap();
        for file in ["scx/common.bpf.h", "bpf/bpf_helpers.h", &format!("arch/{}/vmlinux.h", kernel_name())] {
            assert!(folder.path().join(file).is_file(), "{file}");
        }
    }

    #[test]
    fn what_does_not_compile_or_is_not_there_is_one_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.bpf.c");
        assert!(compile(&file).unwrap_err().to_string().contains("x.bpf.c: No such file"));
        fs::write(&file, "int main(").unwrap();
        assert!(compile(&file).unwrap_err().to_string().contains("does not compile"));
    }
}
