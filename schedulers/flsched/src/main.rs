//! `scx_flsched`: FLSCHED on a stock kernel.
#![forbid(unsafe_code)]

use clap::Parser;
use serde_json::{Map, Value};
use std::process::ExitCode;
use std::time::Duration;
use swtch_scx::{Options, SchedulerError, Settings, Source, Worker, parse_duration};

const SOURCE: Source =
    Source { name: "flsched", object: include_bytes!(concat!(env!("OUT_DIR"), "/flsched.bpf.o")) };

/// Runs FLSCHED as this machine's scheduler: few context switches, no lock of its own.
///
/// Every CPU has a queue and takes turns through it, slice by slice. A task that wakes goes to the end of the queue and never interrupts
/// anybody; queues are balanced only when tasks start and wake.
#[derive(Debug, Parser)]
#[command(name = "scx_flsched", version, after_long_help = MORE)]
struct Args {
    /// How long a task runs before the next one has its turn. Checked at ticks only: at 250 Hz, 30ms become 32ms. Shorter where enough
    /// wait for a CPU that a turn would take more than 4 s.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration)]
    slice: Duration,
    #[command(flatten)]
    options: Options,
}

const MORE: &str = "\
Good for: many tasks that pass messages to each other in pipes, or wait for each other often, where throughput counts more than the
latency of one. They are switched several times less.
Bad for: latency. A task that sleeps waits, when it wakes, for the slices of all tasks in its queue, one after the other. Queues are
never pulled from: load that is uneven stays uneven until tasks sleep or start.

Examples:
  scx_flsched                                   until Ctrl-C
  scx_flsched --slice 20ms --for 60s            for a minute, with shorter turns
  scx_flsched --only-pid $(pidof server)        only one process and what it starts
  scx_flsched --stats 2 --json                  counters every 2 s, as JSON, one object a line";

struct Flsched {
    slice: Duration,
}

impl Worker for Flsched {
    fn configure(&mut self, settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError> {
        let slice_ns = u64::try_from(self.slice.as_nanos()).unwrap_or(u64::MAX);
        settings.set_u64("slice_ns", slice_ns)?;
        Ok(Map::from_iter([("slice_ns".to_owned(), slice_ns.into())]))
    }
}

fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => swtch_scx::run(&SOURCE, &args.options, &mut Flsched { slice: args.slice }),
        Err(error) => swtch_scx::report_usage(&error),
    }
}
