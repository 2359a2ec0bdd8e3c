//! A scheduler whose own half panics a second after it was enabled. The test in a virtual machine looks at what becomes of the kernel then
//! (`tests/guests/scripts/ends.sh`).
#![forbid(unsafe_code)]

use clap::Parser;
use serde_json::{Map, Value};
use std::process::ExitCode;
use std::time::Duration;
use swtch_scx::{Options, Reporter, Running, SchedulerError, Settings, Source, Worker};

const SOURCE: Source =
    Source { name: "panics", object: include_bytes!(concat!(env!("OUT_DIR"), "/flsched.bpf.o")) };

#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    options: Options,
}

struct Panics;

impl Worker for Panics {
    fn configure(&mut self, _settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError> {
        Ok(Map::new())
    }

    fn work(&mut self, _: &Running, _: &Reporter, elapsed: Duration) -> Result<(), SchedulerError> {
        assert!(elapsed < Duration::from_secs(1), "this half fails");
        Ok(())
    }
}

fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => swtch_scx::run(&SOURCE, &args.options, &mut Panics),
        Err(error) => swtch_scx::report_usage(&error),
    }
}
