//! What it costs to hand the CPU from one thread to another, batch by batch, each beside its baseline.

use crate::clock::{WALL, ns};
use crate::host::{cpus_allowed, pin, usage};
use crate::request::{Request, number};
use nix::sched::sched_getcpu;
use serde_json::{Value, json};
use std::io::{Read, Result, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Looking after every batch would stop by luck.
const LOOK_EVERY: usize = 10;
/// With fewer values no pair of order statistics holds the median with 95 %.
const FEWEST: usize = 6;

type Step = Box<dyn FnMut() -> Result<()> + Send>;

/// A measurement of `swtch/faas/2`.
pub fn measure(method: &str, request: &Request) -> Result<Value> {
    let allowed = cpus_allowed();
    // Threads started from here on inherit its CPU.
    let cpu = (request["pin"] == true).then(sched_getcpu).and_then(std::result::Result::ok).filter(|cpu| pin(&[*cpu]).is_ok());
    let threads = if method == "ring" { number(request, "ring_tasks") as usize } else { 2 };
    let found = run(method, threads, cpu, request);
    let _ = pin(&allowed);
    found
}

/// Puts a token, and waits for it: a pipe, or a slot with a condition variable.
fn link(by_pipe: bool) -> Result<(Step, Step)> {
    if by_pipe {
        let (mut reader, mut writer) = pipe()?;
        return Ok((Box::new(move || writer.write_all(&[1])), Box::new(move || reader.read_exact(&mut [0]))));
    }
    let slot = Arc::new((Mutex::new(false), Condvar::new()));
    let giver = Arc::clone(&slot);
    let put = move || {
        *giver.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        giver.1.notify_one();
        Ok(())
    };
    let take = move || {
        let held = slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        *slot.1.wait_while(held, |held| !*held).unwrap_or_else(PoisonError::into_inner) = false;
        Ok(())
    };
    Ok((Box::new(put), Box::new(take)))
}

/// Threads hand a token from one to the next; the first is this one. A last lap ends them.
fn run(method: &str, threads: usize, cpu: Option<usize>, request: &Request) -> Result<Value> {
    let by_pipe = method != "condvar";
    let ((mut give, mut take), mut alone) = (link(by_pipe)?, link(by_pipe)?);
    let ended = Arc::new(AtomicBool::new(false));
    for _ in 1..threads {
        let (mut next, after) = link(by_pipe)?;
        let (mut before, ended) = (std::mem::replace(&mut take, after), Arc::clone(&ended));
        // Whether this lap is the last is known before the token goes on, and only then.
        let mut lap = move || before().map(|()| ended.load(Ordering::Relaxed)).and_then(|last| next().map(|()| last));
        thread::spawn(move || while lap().is_ok_and(|last| !last) {});
    }
    let laps = (number(request, "switches_per_batch") as usize).div_ceil(threads);
    let switches = laps * threads;
    let (mut gross, mut around, mut made) = (Vec::new(), Vec::new(), [0, 0]);
    let end = ns(WALL) + (number(request, "time_limit_ms") * 1e6) as i64;
    // The first warms up.
    timed(laps, &mut give, &mut take)?;
    let stopped_by = loop {
        let before = usage();
        gross.push(timed(laps, &mut give, &mut take)?);
        let after = usage();
        made = [0, 1].map(|kind| made[kind] + after[kind] - before[kind]);
        around.push(timed(switches, &mut alone.0, &mut alone.1)?);
        let n = gross.len();
        let narrow = || n % LOOK_EVERY == 0 && is_narrow(&gross, number(request, "interval"));
        match n as f64 {
            n if n >= number(request, "min_batches") && narrow() => break "interval",
            n if n >= number(request, "max_batches") => break "batch limit",
            _ if ns(WALL) >= end => break "time limit",
            _ => (),
        }
    };
    ended.store(true, Ordering::Relaxed);
    timed(1, &mut give, &mut take)?;
    let mut net: Vec<i64> = gross.iter().zip(&around).map(|(gross, around)| gross - around).collect();
    let expected = gross.len() * switches;
    Ok(json!({
        "method": method, "pinned": cpu.is_some(), "cpu": cpu, "tasks": "threads", "task_count": threads,
        "baseline": if by_pipe { "one task, one pipe" } else { "one task: lock, signal, unlock" }, "switches_per_batch": switches, "batches": gross.len(), "stopped_by": stopped_by,
        "median_ns": median(&mut net) / switches as f64, "check": null, "batches_ns": { "gross": gross, "baseline": around },
        "switches": { "expected": expected, "voluntary": made[0], "involuntary": made[1], "counted_by": "getrusage",
            "per_expected": (made[0] + made[1]) as f64 / expected as f64 },
    }))
}

fn timed(laps: usize, give: &mut Step, take: &mut Step) -> Result<i64> {
    let begin = ns(WALL);
    (0..laps).try_for_each(|_| give().and_then(|()| take()))?;
    Ok(ns(WALL) - begin)
}

fn median(values: &mut [i64]) -> f64 {
    values.sort_unstable();
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) as f64 / 2.0
}

/// Whether the wider side of the median's 95 % interval is within this part of it; ranks by the normal approximation (Conover 1999, 3.2).
fn is_narrow(values: &[i64], part: f64) -> bool {
    let mut sorted = values.to_vec();
    let (n, middle) = (values.len(), median(&mut sorted));
    let rank = (((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0) as usize).max(1);
    n >= FEWEST && (sorted[n - rank] as f64 - middle).max(middle - sorted[rank - 1] as f64) <= part * middle.abs()
}
