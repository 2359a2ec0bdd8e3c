//! `scx_file`: runs a sched_ext scheduler from its file. A `.bpf.c` is compiled with the headers that this program carries; an object is
//! taken as it is. `--program` makes a scheduler's program out of it: this one with the object behind it.
#![forbid(unsafe_code)]

mod bundle;
mod compile;
mod constant;
mod error;

use bundle::Bundle;
use clap::Parser;
use constant::Constant;
use error::FileError;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_scx::{Options, Running, SchedulerError, Settings, Source, Worker};

/// Runs a sched_ext scheduler from its file.
///
/// FILE.bpf.c is compiled for the kernel, with headers that are included; an object (.o) is loaded as it is.
#[derive(Debug, Parser)]
#[command(name = "scx_file", version, after_long_help = MORE)]
struct Args {
    /// The scheduler, FILE.bpf.c or FILE.o.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Set a constant of it (const volatile), e.g. slice_ns=1000000 or slice_ns=1ms.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with_all = ["compile", "program"])]
    set: Vec<Constant>,
    /// Only compile it, to this object.
    #[arg(long, value_name = "OUT.o", conflicts_with = "program")]
    compile: Option<PathBuf>,
    /// Only make a program of it, which needs neither file nor compiler.
    #[arg(long, value_name = "OUT")]
    program: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

const MORE: &str = "\
It includes <scx/common.bpf.h>, of the sched_ext project, and what the file's own directory has. clang 18 or later compiles it.

Examples:
  scx_file mine.bpf.c                          until Ctrl-C
  scx_file mine.bpf.c --set slice_ns=1ms       with another value of a constant
  scx_file mine.bpf.c --verify                 only what the kernel's verifier says
  scx_file mine.bpf.c --program scx_mine       a program of its own";

/// What the user's half of a scheduler would do: sets constants, attaches what is not a callback.
struct File {
    constants: Vec<Constant>,
    attached: bool,
}

impl Worker for File {
    fn configure(&mut self, settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError> {
        let mut shown = Map::new();
        for constant in &self.constants {
            settings.set_constant(&constant.name, constant.value)?;
            // Beyond 64 bits JSON has no numbers; no variable is larger.
            let value = i64::try_from(constant.value)
                .map_or_else(|_| Value::from(constant.value as u64), Value::from);
            shown.insert(constant.name.clone(), value);
        }
        Ok(shown)
    }

    fn work(
        &mut self,
        running: &Running,
        _: &swtch_scx::Reporter,
        _: std::time::Duration,
    ) -> Result<(), SchedulerError> {
        if !self.attached {
            running.attach_others()?;
            self.attached = true;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return swtch_scx::report_usage(&error),
    };
    match run(args) {
        Ok(status) => status,
        Err(error) => {
            swtch_scx::complain("file", &error.to_string());
            ExitCode::from(if matches!(error, FileError::Usage(_)) { 2 } else { 1 })
        }
    }
}

fn run(args: Args) -> Result<ExitCode, FileError> {
    let bundle = match (Bundle::of_this_program()?, &args.file) {
        (Some(bundle), None) => bundle,
        (Some(bundle), Some(_)) => {
            return Err(FileError::Usage(format!(
                "this program is the scheduler {} and takes no file",
                bundle.name
            )));
        }
        (None, Some(file)) => Bundle { name: name_of(file)?, object: object_of(file)? },
        (None, None) => {
            return Err(FileError::Usage("no file given; give FILE.bpf.c or FILE.o".to_owned()));
        }
    };
    if let Some(out) = &args.compile {
        std::fs::write(out, &bundle.object).map_err(FileError::of(out))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(out) = &args.program {
        bundle.write(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    // One scheduler lives as long as its process.
    let source = Source { name: bundle.name.leak(), object: bundle.object.leak() };
    Ok(swtch_scx::run(&source, &args.options, &mut File { constants: args.set, attached: false }))
}

/// The scheduler's name: its file's, without `.bpf.c`, `.bpf.o` or `.o`.
fn name_of(file: &Path) -> Result<String, FileError> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = [".bpf.c", ".bpf.o", ".o"].iter().find_map(|end| name.strip_suffix(end));
    match stem.filter(|stem| !stem.is_empty()) {
        Some(stem) => Ok(stem.to_owned()),
        None => Err(FileError::Usage(format!("{} is not a .bpf.c or .o file", file.display()))),
    }
}

fn object_of(file: &Path) -> Result<Vec<u8>, FileError> {
    if file.extension().is_some_and(|end| end == "o") {
        return std::fs::read(file).map_err(FileError::of(file));
    }
    compile::compile(file)
}
