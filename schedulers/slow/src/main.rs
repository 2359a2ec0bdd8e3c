//! `swtch slow`: CPUs that are as fast as slower ones would be, to try schedulers and programs where all CPUs are alike.
#![forbid(unsafe_code)]

use clap::Parser;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, ProgramMut};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_scx::{NamedNumbers, parse_duration, report_usage};
use swtch_units::CpuList;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slow.bpf.o"));
/// Its program that begins on the CPU that it is called on.
const START: &str = "start";
/// Its map of programs, and how long their names are there.
const PROGRAMS: &str = "programs";
const NAME_BYTES: usize = 16;
/// A CPU that is held up for longer at a time looks dead to the kernel.
const LONGEST_PERIOD: Duration = Duration::from_millis(100);
const SHORTEST_PERIOD: Duration = Duration::from_micros(50);
const LARGEST_FACTOR: f64 = 100.0;
/// How often it is looked whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Holds CPUs up, so that what runs there gets done as little as on slower ones.
///
/// A timer's interrupt keeps each of these CPUs busy for a part of every period; no task is involved, so schedulers see CPUs that are slow. It ends with
/// Ctrl-C, and the CPUs are as fast as before. It takes root, and affects every program on these CPUs.
#[derive(Debug, Parser)]
#[command(name = "swtch slow", version, after_long_help = MORE)]
struct Args {
    /// CPUs, and how many times as slow they are to be, e.g. 2-5=3.5
    #[arg(required = true, value_name = "CPUS=FACTOR", value_parser = Slowed::parse)]
    slowed: Vec<Slowed>,
    /// Programs that are not as slow as others there: each line has a name and its factors, one for each of CPUS
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
    /// How often they are held up
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = period)]
    period: Duration,
    /// End after this time, e.g. 60s; without it, when interrupted
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
}

const MORE: &str = "\
Good for: trying `swtch sched fair` and other schedulers of fast and slow cores on a machine whose cores are alike. Bad for: measuring
anything else. What a slower core differs in besides (caches, the cost of a switch) is as it was.

Examples:
  swtch slow 2-5=3.5                  CPUs 2 to 5 take 3.5 times as long
  swtch slow 1-2=2 3-5=4 --for 60s    two kinds of slow ones, for a minute
  swtch slow 2-5=3 --programs FILE    with lines such as 'gzip 1.8'";

/// CPUs that are slowed alike.
#[derive(Clone, Debug, PartialEq)]
struct Slowed {
    cpus: CpuList,
    factor: f64,
}

impl Slowed {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}' is not CPUS=FACTOR, as in 2-5=3.5");
        let (cpus, factor) = text.split_once('=').ok_or_else(expected)?;
        let cpus: CpuList = cpus.parse().map_err(|_| expected())?;
        let factor: f64 = factor.parse().map_err(|_| expected())?;
        if cpus.numbers().is_empty() || !(1.0..=LARGEST_FACTOR).contains(&factor) {
            return Err(format!("'{text}': a factor is 1 to {LARGEST_FACTOR}, and at least one CPU has it"));
        }
        Ok(Self { cpus, factor })
    }

    /// How long of a period it is held up.
    fn held(&self, period: Duration) -> Duration {
        held(self.factor, period)
    }
}

fn held(factor: f64, period: Duration) -> Duration {
    period.mul_f64(1.0 - 1.0 / factor)
}

/// Programs of a file, each with its factor on every kind of slow CPUs.
fn programs(path: &Path, kinds: usize) -> Result<NamedNumbers, String> {
    let programs = NamedNumbers::read(path, kinds).map_err(|error| error.to_string())?;
    let too_slow = programs.iter().find(|(_, factors)| factors.iter().any(|factor| *factor > LARGEST_FACTOR));
    if let Some((name, _)) = too_slow {
        return Err(format!("{}: {name}: a factor is 1 to {LARGEST_FACTOR}", path.display()));
    }
    Ok(programs)
}

fn period(text: &str) -> Result<Duration, String> {
    let period = parse_duration(text)?;
    let fits = (SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&period);
    fits.then_some(period).ok_or_else(|| format!("'{text}' is not between 50us and 100ms"))
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return report_usage(&error),
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr().lock(), "swtch slow: {}", error.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(cannot("catch signals"))?;
    }
    let programs = args.programs.as_deref().map(|path| programs(path, args.slowed.len())).transpose()?;
    // They end with the object: the kernel cancels a map's timers when no process has the map any more.
    let mut object = load()?;
    let begun = Instant::now();
    for (name, factors) in programs.iter().flat_map(NamedNumbers::iter) {
        put(&mut object, name, factors, args.period)?;
    }
    for (kind, slowed) in (0..).zip(&args.slowed) {
        begin(&mut object, slowed, args.period, kind)?;
        let part = slowed.held(args.period).as_secs_f64() / args.period.as_secs_f64();
        let line = format!(
            "CPUs {}: {} times as slow, held up for {:.1} % of every {:?}",
            slowed.cpus,
            slowed.factor,
            part * 100.0,
            args.period
        );
        writeln!(io::stdout().lock(), "{line}").map_err(cannot("write"))?;
    }
    while !stop.load(Ordering::Relaxed) && args.duration.is_none_or(|duration| begun.elapsed() < duration) {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

fn load() -> Result<Object, String> {
    let why = "load its program into the kernel (as root, and a kernel of 6.7 or later with BPF)";
    let mut object = ObjectBuilder::default().open_memory(OBJECT).map_err(cannot("open its program"))?;
    // The library of sched_ext is linked in, whose programs take a kernel with sched_ext.
    for mut other in object.progs_mut().filter(|program| program.name() != START) {
        other.set_autoload(false);
    }
    object.load().map_err(cannot(why))
}

/// Tells how slow a program is on each kind.
fn put(object: &mut Object, name: &str, factors: &[f64], period: Duration) -> Result<(), String> {
    let map = object
        .maps()
        .find(|map| map.name() == PROGRAMS)
        .ok_or_else(|| format!("its object has no map '{PROGRAMS}'"))?;
    // As the kernel has it: cut off, and ended by a zero.
    let mut kept = [0; NAME_BYTES];
    let bytes = &name.as_bytes()[..name.len().min(NAME_BYTES - 1)];
    kept[..bytes.len()].copy_from_slice(bytes);
    for (kind, factor) in (0_u64..).zip(factors) {
        let key = [&kept[..], &kind.to_ne_bytes()].concat();
        let value = (held(*factor, period).as_nanos() as u64).to_ne_bytes();
        map.update(&key, &value, MapFlags::ANY).map_err(cannot("tell the kernel of a program"))?;
    }
    Ok(())
}

/// Begins on each of the CPUs, from a thread that runs there for the time of it.
fn begin(object: &mut Object, slowed: &Slowed, period: Duration, kind: u64) -> Result<(), String> {
    let before = sched_getaffinity(None).map_err(cannot("read which CPUs it may use"))?;
    let [period_ns, held_ns] = [period, slowed.held(period)].map(|time| time.as_nanos() as u64);
    let mut bytes: Vec<u8> = [period_ns, held_ns, kind].iter().flat_map(|word| word.to_ne_bytes()).collect();
    for cpu in slowed.cpus.numbers() {
        let mut one = CpuSet::new();
        one.set(cpu as usize);
        sched_setaffinity(None, &one).map_err(|error| format!("cannot run on CPU {cpu}: {error}"))?;
        let started = started(object, &mut bytes)?;
        if started != 0 {
            return Err(format!("CPU {cpu}: the kernel starts no timer there (step {started} of 4)"));
        }
    }
    sched_setaffinity(None, &before).map_err(cannot("use all CPUs again"))
}

/// Calls the program; what it returns.
fn started(object: &mut Object, wish: &mut [u8]) -> Result<u32, String> {
    let program: ProgramMut<'_> = object
        .progs_mut()
        .find(|program| program.name() == START)
        .ok_or_else(|| format!("its object has no program '{START}'"))?;
    let input = ProgramInput { context_in: Some(wish), ..ProgramInput::default() };
    let output = program.test_run(input).map_err(cannot("start a timer"))?;
    Ok(output.return_value)
}

fn cannot<E: Display>(what: &str) -> impl FnOnce(E) -> String {
    move |error| format!("cannot {what}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slowed_is_read() {
        let slowed = Slowed::parse("2-3=4").unwrap();
        assert_eq!((slowed.cpus.numbers().len(), slowed.factor), (2, 4.0));
        assert_eq!(slowed.held(Duration::from_millis(1)), Duration::from_micros(750));
        for bad in ["", "2-3", "x=2", "2=x", "2=0.5", "2=1000", "2=NaN"] {
            assert!(Slowed::parse(bad).unwrap_err().contains(bad), "{bad}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "w1 2 3.5\n\nw2 1 1\n").unwrap();
        let read = programs(file.path(), 2).unwrap();
        assert_eq!(read.iter().next(), Some(("w1", &[2.0, 3.5][..])));
        assert!(programs(file.path(), 3).unwrap_err().contains(":1: 'w1 2 3.5'"));
        std::fs::write(file.path(), "w1 2 1000\n").unwrap();
        assert!(programs(file.path(), 2).unwrap_err().contains("1 to 100"));
        assert!(period("1s").is_err() && period("1us").is_err() && period("2ms").is_ok());
    }
}
