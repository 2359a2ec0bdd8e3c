//! FLSCHED's figures 1 and 3 and its spinlock shares: NPB programs with more threads than CPUs, which wait at barriers by `sched_yield`.

use crate::parallel;
use crate::phi::{CFS, CPUS, FLSCHED, Figures, POLICIES, simulate};
use crate::registry::Options;
use crate::table::{Row, Table};
use anyhow::Result;
use swtch_sim::workloads::Npb;
use swtch_sim::workloads::npb::NpbProgram;

/// Meetings in a row that make one barrier of the programs' runtime; chosen by cg with 1,600 threads under FLSCHED.
const ROUNDS: u32 = 26;
/// Meetings of a program after which what starting takes is over, and up to which it is simulated.
const MEETINGS: (u32, u32) = (12, 20);
/// Threads of figure 1.
const THREADS: u32 = 1_600;

/// What a run came to.
#[derive(Clone, Copy, Debug)]
struct Steady {
    /// Time of the whole program: as many meetings as it has, each at what one takes when the start is over, s.
    program_s: f64,
    /// Spinning for locks, in percent of the time that CPUs were not idle.
    spun_percent: f64,
}

/// One program under one policy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Job {
    program: NpbProgram,
    threads: u32,
    policy: usize,
}

fn jobs(programs: &[NpbProgram], threads: &[u32]) -> Vec<Job> {
    let of = |program: NpbProgram, threads: u32| {
        (0..POLICIES.len()).map(move |policy| Job { program, threads, policy })
    };
    let with = |program: NpbProgram| threads.iter().flat_map(move |threads| of(program, *threads));
    programs.iter().flat_map(|program| with(*program)).collect()
}

fn steady(job: &Job) -> Result<Steady> {
    let (all, _) = job.program.facts();
    let (first, last) = if all > MEETINGS.1 { MEETINGS } else { (1, all) };
    let part = |meetings: u32| {
        let scale = (f64::from(meetings) - 0.5) / f64::from(all);
        let npb = Npb { program: job.program, threads: job.threads, scale, rounds: ROUNDS, ..Npb::default() };
        simulate(CPUS, npb.build()?, POLICIES[job.policy].2)
    };
    let (short, long) = (part(first)?, part(last)?);
    let of_one_s = (long.makespan_ns - short.makespan_ns) as f64 / 1e9 / f64::from(last - first);
    let times = long.stats.times();
    let spun_percent = 100.0 * times.spin_ns as f64 / (times.sum_ns() - times.idle_ns) as f64;
    Ok(Steady { program_s: of_one_s * f64::from(all), spun_percent })
}

fn all(options: Options, jobs: &[Job]) -> Result<Vec<Steady>> {
    parallel::map(options.threads, jobs, steady)
}

/// Figures 1 and 3.
///
/// # Errors
/// None that are expected.
pub(crate) fn run(options: Options) -> Result<Vec<Table>> {
    if options.small {
        return Ok(vec![times(options, &Figures::read()?, NpbProgram::Cg, &[400])?]);
    }
    let figures = Figures::read()?;
    let mut tables = vec![normalised(options, &figures)?];
    for program in [NpbProgram::Cg, NpbProgram::Sp] {
        tables.push(times(options, &figures, program, &[400, 800, 1_600, 3_200])?);
    }
    Ok(tables)
}

/// Why a program's figures do not come out.
fn why(program: NpbProgram) -> &'static str {
    match program {
        NpbProgram::Is => {
            "its tables grow with the threads; that traffic of memory is not in the simulated program"
        }
        _ => "a barrier takes as long in every program here; there, up to twice as long in some as in others",
    }
}

const UNEVEN: &str = "a new thread looks at 16 CPUs for the shortest queue, so that some CPUs get more threads than others; the original looked at all";
const FLAT: &str = "time grows in proportion to the threads here, less steeply there: what a yield takes is the same however many wait";

fn normalised(options: Options, figures: &Figures) -> Result<Table> {
    let found = all(options, &jobs(&NpbProgram::ALL, &[THREADS]))?;
    let mut table = Table::new("Operations/s of NPB (class A) with 1,600 threads, CFS = 1");
    for (of_program, program) in found.chunks(POLICIES.len()).zip(NpbProgram::ALL) {
        for (place, (name, key, _)) in POLICIES.into_iter().enumerate().filter(|(place, _)| *place != CFS) {
            let published = figures.value(&["fig1_normalised_OPS_1600thr", program.name(), key])?;
            let obtained = of_program[CFS].program_s / of_program[place].program_s;
            let what = format!("{}, {name}", program.name());
            let row = Row::new(what, published, obtained, "", 0.1).decimals(3);
            // cg under FLSCHED and CFS is what the machine's figures were chosen by.
            let is_calibrated = program == NpbProgram::Cg && place == FLSCHED;
            table.rows.push(if is_calibrated { row.calibrated() } else { row.judged(why(program)) });
        }
    }
    Ok(table)
}

fn times(options: Options, figures: &Figures, program: NpbProgram, threads: &[u32]) -> Result<Table> {
    let name = program.name();
    let jobs = jobs(&[program], threads);
    let mut table = Table::new(format!("Run time of {name} (class A) over threads"));
    for (job, found) in jobs.iter().zip(all(options, &jobs)?) {
        let (policy, key, _) = POLICIES[job.policy];
        let figure = format!("fig3_NPB_A_time_s_{name}");
        let published = figures.at(&figure, "threads", key, f64::from(job.threads))?;
        let what = format!("{name}, {} threads, {policy}", job.threads);
        let row = Row::new(what, published, found.program_s, "s", 0.25 * published).decimals(2);
        let is_calibrated = *job == Job { program: NpbProgram::Cg, threads: THREADS, policy: FLSCHED };
        let why = if job.policy == FLSCHED { UNEVEN } else { FLAT };
        table.rows.push(if is_calibrated { row.calibrated() } else { row.judged(why) });
    }
    Ok(table)
}

/// Published spinlock shares of the run time, %, by program and in the order of [`POLICIES`].
const SPUN: [[f64; 4]; 8] = [
    [7.29, 8.53, 8.60, 3.05],
    [10.73, 13.61, 12.93, 4.11],
    [0.97, 0.89, 0.91, 1.10],
    [5.34, 5.25, 5.57, 4.04],
    [0.21, 0.17, 0.18, 0.12],
    [6.84, 7.30, 7.15, 2.85],
    [8.23, 9.95, 9.98, 3.58],
    [14.63, 15.79, 15.46, 5.96],
];

const OWN: &str = "threads that only yield take no other CPU's lock here";

/// Spinlock shares.
///
/// # Errors
/// None that are expected.
pub(crate) fn spin(options: Options) -> Result<Vec<Table>> {
    let programs = if options.small { &NpbProgram::ALL[1..2] } else { &NpbProgram::ALL[..] };
    let found = all(options, &jobs(programs, &[if options.small { 400 } else { THREADS }]))?;
    let mut table =
        Table::new("Spinning for locks, in percent of run time, NPB (class A) with 1,600 threads");
    for (of_program, program) in found.chunks(POLICIES.len()).zip(programs) {
        let place = NpbProgram::ALL.iter().position(|known| known == program).unwrap_or(0);
        for ((found, (name, _, _)), published) in of_program.iter().zip(POLICIES).zip(SPUN[place]) {
            let what = format!("{}, {name}", program.name());
            let row = Row::new(what, published, found.spun_percent, "%", 0.5).decimals(2);
            table.rows.push(row.judged(OWN));
        }
    }
    Ok(vec![table])
}
