//! `swtch import`.

use crate::args::import::ImportArgs;
use crate::console::Interruptible;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_record::import::{ImportError, import};

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let out = args.out.clone().unwrap_or_else(|| folder(&args.file));
    if out == Path::new("-") {
        return Err(WrongUsage(
            "a Trace is a directory and cannot go to standard output; use -o NAME.swtch".to_owned(),
        )
        .into());
    }
    let (input, in_all): (Box<dyn Read>, Option<u64>) = if args.file == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let read = |source| ImportError::Read { path: args.file.clone(), source };
        let file = File::open(&args.file).map_err(read)?;
        // Of a pipe it is not known how much will come.
        let in_all = file.metadata().ok().filter(Metadata::is_file).map(|found| found.len());
        (Box::new(file), in_all)
    };
    let input = Interruptible::new(input, in_all).context("cannot listen for Ctrl-C")?;
    let imported = import(input, &args.file, &out)?;
    if args.json.asked() {
        output::json(&args.json, &imported.json())?;
    } else {
        output::print(&imported.text());
    }
    Ok(ExitCode::SUCCESS)
}

/// `trace.swtch` for `/tmp/trace.txt`, in this directory.
fn folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().filter(|stem| *stem != "-");
    let mut name = stem.unwrap_or("import".as_ref()).to_owned();
    name.push(".swtch");
    PathBuf::from(name)
}
