//! `scx_global_fifo`: one queue for all CPUs, first in, first out; to compare others with.
#![forbid(unsafe_code)]

use clap::Parser;
use serde_json::{Map, Value};
use std::process::ExitCode;
use std::time::Duration;
use swtch_scx::{Options, SchedulerError, Settings, Source, Worker, parse_duration};

const SOURCE: Source =
    Source { name: "global_fifo", object: include_bytes!(concat!(env!("OUT_DIR"), "/global_fifo.bpf.o")) };

/// Runs a plain first-in-first-out scheduler with one queue for all CPUs.
///
/// It does nothing clever: it is here to compare other sched_ext schedulers with.
#[derive(Debug, Parser)]
#[command(name = "scx_global_fifo", version, after_long_help = MORE)]
struct Args {
    /// How long a task runs before the next one has its turn. Checked at ticks only: at 250 Hz, 30ms become 32ms.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = parse_duration)]
    slice: Duration,
    #[command(flatten)]
    options: Options,
}

const MORE: &str = "\
Good for: seeing what a sched_ext scheduler costs and gains by itself. Bad for: machines with many CPUs, which all take one lock.

Examples:
  scx_global_fifo                        until Ctrl-C
  scx_global_fifo --for 60s --stats 2    for a minute, with counters every 2 s";

struct GlobalFifo {
    slice: Duration,
}

impl Worker for GlobalFifo {
    fn configure(&mut self, settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError> {
        let slice_ns = u64::try_from(self.slice.as_nanos()).unwrap_or(u64::MAX);
        settings.set_u64("slice_ns", slice_ns)?;
        Ok(Map::from_iter([("slice_ns".to_owned(), slice_ns.into())]))
    }
}

fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => swtch_scx::run(&SOURCE, &args.options, &mut GlobalFifo { slice: args.slice }),
        Err(error) => swtch_scx::report_usage(&error),
    }
}
