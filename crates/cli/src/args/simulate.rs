//! Arguments of `swtch simulate`.

use super::JsonArgs;
use super::words::{NameAndMeaning, NamesOf};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use swtch_sim::Jitter;
use swtch_sim::machine::MACHINES;
use swtch_sim::policies::policies;
use swtch_sim::workloads::WORKLOADS;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch simulate hackbench --groups 2 --machine 64 --policies eevdf,cfs,rr,fifo\n  \
    swtch simulate schbench --workers 8 --machine 2f4s --policies eevdf,cfs --hooks\n  \
    swtch simulate npb:program=is,threads=64,scale=0.1 --machine xeon-phi-31s1p --json\n  \
    swtch simulate mix --speedups 3,2,1.2 --work 200ms --machine 2f4s --policies eevdf,rr\n  \
    swtch simulate pipeline.toml --out traces\n  \
    swtch simulate replay run.swtch --policies eevdf,cfs\n  \
    swtch simulate --sweep grid.toml --out grid.parquet\n\n\
    SPEC: a workload by name, with parameters as options or as NAME:KEY=VALUE,...; a specification FILE.toml, or -\n\
    for one from standard input; FILE.json of rt-app; or replay and a Trace.\n\
    Policies: by name, or FILE.bpf.c (a sched_ext scheduler); parameters follow a colon, as in\n\
    min-fair:min-fairness=0.9. Times: 250us, 2ms, 1.5s.\n\
    Exit status: 0 done, 1 failed or interrupted, 2 wrong usage or an invalid specification.")]
pub(crate) struct SimulateArgs {
    /// The workload: a name, FILE.toml, - for standard input, FILE.json of rt-app, or replay
    #[arg(value_name = "SPEC", required_unless_present = "sweep", value_parser = NamesOf(workloads))]
    pub(crate) spec: Option<String>,
    /// With replay: the Trace to run again
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// The machine by name, or a number of CPUs [default: this machine; replay: the recording's]
    #[arg(long, value_name = "NAME|N", value_parser = NamesOf(machines))]
    pub(crate) machine: Option<String>,
    /// Take the costs of the kernel's work from this Profile
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Policies to compare [default: eevdf]
    #[arg(long, value_name = "POLICY,...", value_parser = NamesOf(all_policies))]
    pub(crate) policies: Option<String>,
    /// Seed of the random numbers [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Random differences that the workload does not ask for. typical: starts within 20 us, work within 1 % and the first task's CPU, as on an
    /// ordinary machine [default: typical] [possible values: typical, none]
    #[arg(long, value_name = "NAME", value_parser = jitter)]
    pub(crate) jitter: Option<Jitter>,
    /// Stop the run after this much simulated time
    #[arg(long, value_name = "TIME", value_parser = super::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Abort a run that has not ended after this much simulated time [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = super::duration, allow_hyphen_values = true)]
    pub(crate) limit: Option<Duration>,
    /// Write a Trace of each policy into this directory; with --sweep, the table to write
    #[arg(short, long, value_name = "DIR|FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Run all combinations of a sweep's machines, workloads, policies and seeds, on every core
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["spec", "machine", "policies", "seed", "jitter", "duration", "limit", "hooks"])]
    pub(crate) sweep: Option<PathBuf>,
    /// Run only part I of N of the sweep
    #[arg(long, value_name = "I/N", requires = "sweep", value_parser = shard)]
    pub(crate) shard: Option<(u64, u64)>,
    /// Threads of the sweep [default: one a core]
    #[arg(long = "jobs", short, value_name = "N", requires = "sweep", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Also print the calls and times of the scheduling class's hooks
    #[arg(long)]
    pub(crate) hooks: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Simulate every timer tick, also those that decide nothing
    #[arg(long, hide = true)]
    pub(crate) every_tick: bool,
    #[command(flatten)]
    pub(crate) parameters: Parameters,
}

/// Parameters of workloads by name.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Parameters of workloads")]
pub(crate) struct Parameters {
    /// Groups of senders and receivers (hackbench)
    #[arg(long, value_name = "N")]
    groups: Option<u32>,
    /// Senders of a group, and as many receivers (hackbench); pairs of tasks (ping-pong)
    #[arg(long, value_name = "N")]
    pairs: Option<u32>,
    /// Rounds of each sender or pair (hackbench, ping-pong)
    #[arg(long, value_name = "N")]
    loops: Option<u32>,
    /// Length of a message (hackbench, ping-pong)
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    message_bytes: Option<u64>,
    /// threads or processes (hackbench, ping-pong); the number of tasks (spin)
    #[arg(long, value_name = "threads|processes|N")]
    tasks: Option<String>,
    /// What carries the messages (hackbench, ping-pong)
    #[arg(long, value_name = "pipe|socket")]
    transport: Option<String>,
    /// Include task creation in the measured time (hackbench)
    #[arg(long)]
    from_start: bool,
    /// Message threads (schbench)
    #[arg(long, value_name = "N")]
    message_threads: Option<u32>,
    /// Workers of each message thread (schbench)
    #[arg(long, value_name = "N")]
    workers: Option<u32>,
    /// Requests of each worker (schbench)
    #[arg(long, value_name = "N")]
    requests: Option<u32>,
    /// Work of a message thread for a request (schbench)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    message_work: Option<String>,
    /// Time that a worker sleeps between requests (schbench)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    think: Option<String>,
    /// Work of a request, a turn, a task or an application (schbench, ping-pong, spin, mix)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    work: Option<String>,
    /// bt, cg, ep, ft, is, mg, sp or ua (npb)
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Threads (npb)
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Part of the program's intervals that is run (npb)
    #[arg(long, value_name = "X")]
    scale: Option<f64>,
    /// How much intervals differ between threads, in per cent (npb)
    #[arg(long, value_name = "N")]
    imbalance: Option<u32>,
    /// How threads wait at barriers (npb)
    #[arg(long, value_name = "block|spin-yield|spin")]
    waiting: Option<String>,
    /// Nice values, given to the tasks in turn (spin)
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_hyphen_values = true)]
    nice: Vec<i8>,
    /// Speed of each application on a fast core over that on a slow one (mix)
    #[arg(long, value_name = "S,...", value_delimiter = ',')]
    speedups: Vec<f64>,
    /// Memory that a task uses between switches (all but mix)
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    working_set: Option<u64>,
}

/// A parameter that was given: the option's name, its value, and its name in each workload that has it.
type Given = (&'static str, String, Owners);
/// The workloads that have a parameter, and its name in each.
type Owners = &'static [(&'static str, &'static str)];

impl Parameters {
    /// The parameters that were given.
    fn given(&self) -> Vec<Given> {
        fn text<T: ToString>(value: Option<&T>) -> Option<String> {
            value.map(T::to_string)
        }
        let nice = (!self.nice.is_empty()).then(|| format!("{:?}", self.nice));
        let all: [(&str, Option<String>, Owners); 19] = [
            ("groups", text(self.groups.as_ref()), &[("hackbench", "groups")]),
            ("pairs", text(self.pairs.as_ref()), &[("hackbench", "pairs"), ("ping-pong", "pairs")]),
            ("loops", text(self.loops.as_ref()), &[("hackbench", "loops"), ("ping-pong", "loops")]),
            (
                "message-bytes",
                text(self.message_bytes.as_ref()),
                &[("hackbench", "message_bytes"), ("ping-pong", "message_bytes")],
            ),
            (
                "tasks",
                self.tasks.clone(),
                &[("hackbench", "tasks"), ("ping-pong", "tasks"), ("spin", "tasks")],
            ),
            ("transport", self.transport.clone(), &[("hackbench", "channel"), ("ping-pong", "channel")]),
            ("from-start", self.from_start.then(|| "true".to_owned()), &[("hackbench", "from_start")]),
            ("message-threads", text(self.message_threads.as_ref()), &[("schbench", "message_threads")]),
            ("workers", text(self.workers.as_ref()), &[("schbench", "workers")]),
            ("requests", text(self.requests.as_ref()), &[("schbench", "requests")]),
            ("message-work", self.message_work.clone(), &[("schbench", "message_work_ns")]),
            ("think", self.think.clone(), &[("schbench", "think_ns")]),
            (
                "work",
                self.work.clone().filter(|_| self.speedups.is_empty()),
                &[("schbench", "work_ns"), ("ping-pong", "work_ns"), ("spin", "work_ns")],
            ),
            ("program", self.program.clone(), &[("npb", "program")]),
            ("threads", text(self.threads.as_ref()), &[("npb", "threads")]),
            ("scale", text(self.scale.as_ref()), &[("npb", "scale")]),
            ("imbalance", text(self.imbalance.as_ref()), &[("npb", "imbalance_percent")]),
            ("waiting", self.waiting.clone(), &[("npb", "waiting")]),
            ("nice", nice, &[("spin", "nice")]),
        ];
        let mut given: Vec<Given> =
            all.into_iter().filter_map(|(flag, value, of)| Some((flag, value?, of))).collect();
        let in_all = &[
            ("hackbench", "working_set_bytes"),
            ("ping-pong", "working_set_bytes"),
            ("schbench", "working_set_bytes"),
            ("npb", "working_set_bytes"),
            ("spin", "working_set_bytes"),
        ];
        given.extend(self.working_set.map(|bytes| ("working-set", bytes.to_string(), &in_all[..])));
        if !self.speedups.is_empty() {
            given.push(("speedups", self.applications(), &[("mix", "applications")]));
        }
        given
    }

    /// A list of applications in TOML; with a time for each, they start again and again.
    fn applications(&self) -> String {
        let work = self.work.as_ref().map_or_else(String::new, |work| format!(", work_ns = {work:?}"));
        let one = |(place, speedup): (usize, &f64)| {
            // TOML tells whole numbers from others.
            format!("{{ name = \"app-{}\", speedup = {speedup:?}{work} }}", letter(place))
        };
        let all: Vec<String> = self.speedups.iter().enumerate().map(one).collect();
        format!("[{}]", all.join(", "))
    }

    /// `spec` with the options as parameters behind it, or what is wrong with them.
    pub(crate) fn with(&self, spec: &str) -> Result<String, String> {
        let name = spec.split(':').next().unwrap_or(spec);
        let mut pairs = Vec::new();
        for (flag, value, of) in self.given() {
            let Some((_, key)) = of.iter().find(|(workload, _)| *workload == name) else {
                let owners: Vec<_> = of.iter().map(|(workload, _)| *workload).collect();
                return Err(format!("--{flag} is a parameter of {}, not of {spec}", owners.join(", ")));
            };
            pairs.push(format!("{key}={value}"));
        }
        if pairs.is_empty() {
            return Ok(spec.to_owned());
        }
        let joint = if spec.contains(':') { "," } else { ":" };
        Ok(format!("{spec}{joint}{}", pairs.join(",")))
    }
}

/// `a` to `z`, then numbers.
fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place @ 0..26) => char::from(b'a' + place).to_string(),
        _ => place.to_string(),
    }
}

fn workloads() -> Vec<NameAndMeaning> {
    let replay = ("replay", "the work of a recorded Trace");
    WORKLOADS.iter().map(|row| (row.name, row.meaning)).chain([replay]).collect()
}

fn machines() -> Vec<NameAndMeaning> {
    MACHINES.iter().map(|row| (row.name, row.meaning)).collect()
}

fn all_policies() -> Vec<NameAndMeaning> {
    policies().map(|row| (row.name, row.meaning)).collect()
}

fn jitter(text: &str) -> Result<Jitter, String> {
    Jitter::named(text).map_err(|error| error.to_string())
}

fn shard(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("'{text}' is not a part; write 1/4 for the first of four");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    let (part, parts) = (part.parse().map_err(|_| wrong())?, parts.parse().map_err(|_| wrong())?);
    if parts == 0 || part == 0 || part > parts { Err(wrong()) } else { Ok((part, parts)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_parameters_of_their_workload_only() {
        let parameters =
            Parameters { groups: Some(20), transport: Some("pipe".to_owned()), ..Parameters::default() };
        assert_eq!(parameters.with("hackbench").unwrap(), "hackbench:groups=20,channel=pipe");
        assert_eq!(parameters.with("hackbench:loops=2").unwrap(), "hackbench:loops=2,groups=20,channel=pipe");
        assert_eq!(parameters.with("spin").unwrap_err(), "--groups is a parameter of hackbench, not of spin");
        let mix =
            Parameters { speedups: vec![3.0, 1.5], work: Some("1ms".to_owned()), ..Parameters::default() };
        let text = mix.with("mix").unwrap();
        assert!(
            text.starts_with("mix:applications=[{ name = \"app-a\", speedup = 3.0, work_ns = \"1ms\" }, "),
            "{text}"
        );
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(shard("1/4"), Ok((1, 4)));
        for text in ["0/4", "5/4", "1", "a/b", "1/0", "-1/2"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }
}
