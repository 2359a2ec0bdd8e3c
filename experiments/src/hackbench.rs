//! FLSCHED's figures 2 and 4 and its table of hooks: hackbench.

use crate::parallel;
use crate::phi::{CFS, CPUS, FLSCHED, Figures, POLICIES, simulate};
use crate::registry::Options;
use crate::table::{Grid, Row, Table};
use anyhow::Result;
use swtch_sim::hook::{HOOKS, Hook};
use swtch_sim::run::PolicyRun;
use swtch_sim::sink::Nothing;
use swtch_sim::workloads::{Hackbench, Tasks, Transport};

/// An eighth of the machine with an eighth of the groups: as many tasks for a CPU, and an eighth of the events.
const PART_CPUS: usize = 28;
/// Times a sender writes to all receivers. The paper does not tell; 5 million switches do not fit perf's 100.
const LOOPS: u32 = 1_000;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Job {
    groups: u32,
    tasks: Tasks,
    channel: Transport,
    policy: usize,
}

impl Job {
    fn run(&self, options: Options) -> Result<PolicyRun<Nothing>> {
        let Self { groups, tasks, channel, policy } = *self;
        let loops = if options.small { LOOPS / 50 } else { LOOPS };
        let workload = Hackbench { groups, loops, tasks, channel, ..Hackbench::default() }.build()?;
        simulate(PART_CPUS, workload, POLICIES[policy].2)
    }

    /// Groups of the whole machine.
    fn of_all(&self) -> f64 {
        f64::from(self.groups) * scale()
    }

    fn what(&self) -> String {
        format!("{:.0} groups, {}", self.of_all(), POLICIES[self.policy].0)
    }
}

/// What the whole machine is of the part.
fn scale() -> f64 {
    CPUS as f64 / PART_CPUS as f64
}

fn jobs(groups: &[u32], tasks: Tasks, channel: Transport) -> Vec<Job> {
    let of = |groups: u32| (0..POLICIES.len()).map(move |policy| Job { groups, tasks, channel, policy });
    groups.iter().flat_map(|groups| of(*groups)).collect()
}

/// Seconds, and switches of the whole machine in millions.
fn measured(options: Options, jobs: &[Job]) -> Result<Vec<(f64, f64)>> {
    parallel::map(options.threads, jobs, |job| {
        let run = job.run(options)?;
        Ok((run.makespan_ns as f64 / 1e9, run.stats.context_switches() as f64 * scale() / 1e6))
    })
}

/// Where the figures of a kind of hackbench are.
struct Source {
    title: &'static str,
    tasks: Tasks,
    channel: Transport,
    groups: &'static [u32],
    times: &'static str,
    switches: &'static str,
    suffix: &'static str,
    /// The policies whose times at most groups the machine's figures were chosen by.
    calibrated: &'static [usize],
    /// Why times do not come out.
    slower: &'static str,
}

impl Source {
    fn is_calibrated(&self, job: &Job) -> bool {
        self.groups.last() == Some(&job.groups) && self.calibrated.contains(&job.policy)
    }
}

const BOTH: &str = "follows from the times above";
const FEWER: &str = "tasks there wake and sleep again more often than the simulated pipes make them";
const LESS: &str =
    "with fewer groups tasks meet at their pipes more often there, and wait; here they seldom do";
const DEARER: &str = "a message between processes takes longer there than between threads, whatever the policy; the switches are too few to account for it";
const BUFFERS: &str = "sockets have locks and memory of their own, which only make calls longer here";

const SOURCES: [Source; 3] = [
    Source {
        title: "threads and pipes",
        tasks: Tasks::Threads,
        channel: Transport::Pipe,
        groups: &[5, 10, 15, 25],
        times: "fig2_hackbench_thread_pipe_time_s",
        switches: "fig2_hackbench_thread_pipe_ctxsw",
        suffix: "",
        calibrated: &[CFS, FLSCHED],
        slower: LESS,
    },
    Source {
        title: "processes and pipes",
        tasks: Tasks::Processes,
        channel: Transport::Pipe,
        groups: &[25],
        times: "fig4a_process_time_s",
        switches: "fig4c_process_ctxsw",
        suffix: "_pipe",
        calibrated: &[],
        slower: DEARER,
    },
    Source {
        title: "processes and sockets",
        tasks: Tasks::Processes,
        channel: Transport::Socket,
        groups: &[25],
        times: "fig4a_process_time_s",
        switches: "fig4c_process_ctxsw",
        suffix: "_socket",
        calibrated: &[FLSCHED],
        slower: BUFFERS,
    },
];

/// Figures 2 and 4.
///
/// # Errors
/// None that are expected.
pub(crate) fn run(options: Options) -> Result<Vec<Table>> {
    let figures = Figures::read()?;
    SOURCES.iter().map(|source| compare(options, &figures, source)).collect()
}

fn compare(options: Options, figures: &Figures, source: &Source) -> Result<Table> {
    let jobs = jobs(if options.small { &[1] } else { source.groups }, source.tasks, source.channel);
    let found = measured(options, &jobs)?;
    let mut table =
        Table::new(format!("hackbench, {}, on 28 of 228 CPUs with as many groups for each", source.title));
    let curve = |figure: &str, job: &Job| {
        figures.at(figure, "groups", &format!("{}{}", POLICIES[job.policy].1, source.suffix), job.of_all())
    };
    for (job, (seconds, switches)) in jobs.iter().zip(&found) {
        let published = curve(source.times, job)?;
        let row =
            Row::new(format!("{}: time", job.what()), published, *seconds, "s", 0.15 * published).decimals(2);
        table.rows.push(if source.is_calibrated(job) { row.calibrated() } else { row.judged(source.slower) });
        let published = curve(source.switches, job)? / 1e6;
        let what = format!("{}: switches", job.what());
        table.rows.push(
            Row::new(what, published, *switches, "million", 0.25 * published).decimals(2).judged(FEWER),
        );
    }
    for (jobs, found) in jobs.chunks(POLICIES.len()).zip(found.chunks(POLICIES.len())) {
        for (job, (seconds, _)) in jobs.iter().zip(found).filter(|(job, _)| job.policy != CFS) {
            let published = curve(source.times, &jobs[CFS])? / curve(source.times, job)?;
            let what = format!("{}: times as fast as CFS", job.what());
            table
                .rows
                .push(Row::new(what, published, found[CFS].0 / seconds, "", 0.4).decimals(2).judged(BOTH));
        }
    }
    Ok(table)
}

/// Published mean times of hooks under hackbench, ns, under CFS and under FLSCHED.
const MEANS: [(Hook, [f64; 2]); 7] = [
    (Hook::WakeupPreempt, [5_058.0, 917.0]),
    (Hook::Dequeue, [19_008.0, 3_636.0]),
    (Hook::Enqueue, [17_314.0, 4_169.0]),
    (Hook::PickNext, [5_261.0, 1_937.0]),
    (Hook::PutPrev, [6_185.0, 1_138.0]),
    (Hook::SelectCpu, [10_837.0, 2_549.0]),
    (Hook::Tick, [13_131.0, 1_042.0]),
];

/// The table of hooks.
///
/// # Errors
/// None that are expected.
pub(crate) fn hooks(options: Options) -> Result<Vec<Table>> {
    let groups = if options.small { 1 } else { 25 };
    let jobs =
        [CFS, FLSCHED].map(|policy| Job { groups, tasks: Tasks::Threads, channel: Transport::Pipe, policy });
    let runs = parallel::map(options.threads, &jobs, |job| Ok(job.run(options)?.stats.hooks))?;
    let mut table = Table::new("Mean time of a hook under hackbench, threads and pipes");
    for (hook, published) in MEANS {
        for ((tallies, published), name) in runs.iter().zip(published).zip(["CFS", "FLSCHED"]) {
            let stats = tallies[hook as usize];
            if stats.calls > 0 {
                let mean_ns = stats.ns as f64 / stats.calls as f64;
                let what = format!("{}, {name}", hook.name());
                table
                    .rows
                    .push(Row::new(what, published, mean_ns, "ns", 0.2 * published).decimals(0).calibrated());
            }
        }
    }
    let header = ["hook", "CFS: calls", "of its time, waiting for locks", "FLSCHED: calls", "waiting"];
    let mut grid = Grid { header: header.map(str::to_owned).to_vec(), rows: Vec::new() };
    for hook in Hook::ALL {
        let cells = runs.iter().flat_map(|tallies: &[_; HOOKS]| {
            let stats = tallies[hook as usize];
            let part = 100.0 * stats.spin_ns as f64 / (stats.ns.max(1)) as f64;
            [stats.calls.to_string(), format!("{part:.1} %")]
        });
        grid.rows.push([hook.name().to_owned()].into_iter().chain(cells).collect());
    }
    table.grid = Some(grid);
    Ok(vec![table])
}
