//! What recorders take themselves: CPU time of their process and of their programs in the kernel. One load has a known rate of switches,
//! the other is threads that sleep.
#![allow(missing_docs, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use swtch_stats::median;

const SWTCH: &str = env!("CARGO_BIN_EXE_swtch");
/// The kernel keeps CPU times of processes in ticks of this length, ns.
const TICK_NS: f64 = 1e7;
/// While this is 1 the kernel takes the time of each run of a program, which itself takes some tens of nanoseconds.
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
/// Switches a second and sleeping threads beside which the recorders run.
const SWITCHES: u32 = 300_000;
const THREADS: u32 = 10_000;

/// Acts as a load until its input ends, if the arguments ask for one: this program is its own load.
pub(crate) fn acted_as_load() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, amount, ..] = arguments.as_slice() else { return false };
    match (kind.as_str(), amount.parse()) {
        ("--switches", Ok(rate)) => drop(std::thread::spawn(move || switch(rate))),
        ("--threads", Ok(threads)) => sleep(threads),
        _ => return false,
    }
    let _ = std::io::stdin().read(&mut [0]);
    true
}

/// Two threads hand a byte to and fro, `rate` switches a second as far as the CPU can.
fn switch(rate: u32) {
    let (mut ping, mut ping_end) = std::io::pipe().expect("a pipe");
    let (mut pong, mut pong_end) = std::io::pipe().expect("a pipe");
    std::thread::spawn(move || {
        let mut byte = [0];
        while ping.read_exact(&mut byte).is_ok() && pong_end.write_all(&byte).is_ok() {}
    });
    let mut next = Instant::now();
    loop {
        for _ in 0..rate / 2000 {
            ping_end.write_all(b"x").expect("the other thread reads");
            pong.read_exact(&mut [0]).expect("the other thread writes");
        }
        next += Duration::from_millis(1);
        match next.checked_duration_since(Instant::now()) {
            Some(left) => std::thread::sleep(left),
            None => next = Instant::now(),
        }
    }
}

/// Threads that sleep.
fn sleep(threads: u32) {
    for _ in 0..threads {
        let thread = std::thread::Builder::new().stack_size(16 << 10);
        let sleeps = || {
            loop {
                std::thread::park();
            }
        };
        thread.spawn(sleeps).expect("as many threads as are asked for");
    }
}

/// A recorder with what it takes, as shares of one CPU.
struct OwnCost {
    process: f64,
    programs: Option<f64>,
    switches_per_s: f64,
}

/// Measures them all and prints what they take; `seconds` and `rounds` are of each.
pub(crate) fn measure(cpu: &str, folder: &Path, seconds: u64, rounds: u32, small: bool) {
    let (rate, threads) = if small { (1000, 20) } else { (SWITCHES, THREADS) };
    let loads = [
        ("--switches", rate, format!("{rate} switches a second")),
        ("--threads", threads, format!("{threads} threads asleep")),
    ];
    println!(
        "\n{:24} {:26} {:>14} {:>14} {:>18}",
        "recorder", "beside", "its process", "its programs", "switches a second"
    );
    let kept = ["--keep", "60s", "--when", "wait.p99 > 10s", "--dumps", "dumps"];
    let recorders: [(&str, &[&str]); 3] = [
        ("swtch serve", &["serve"]),
        ("swtch serve --keep", &[&["serve", "--no-profile"], &kept[..]].concat()),
        (
            "swtch record --counts",
            &["record", "-a", "--counts", "--no-profile", "--force", "-o", "own.swtch"],
        ),
    ];
    for (kind, amount, beside) in &loads {
        for (name, words) in recorders {
            let mut found = Vec::new();
            for _ in 0..rounds {
                let Some(mut load) = started_load(kind, *amount, cpu) else {
                    println!("left out: {beside} do not run here");
                    break;
                };
                let address = free_address();
                let listens: &[&str] = if words[0] == "serve" { &["--listen", &address] } else { &[] };
                let words = [words, listens].concat();
                found.extend(own_cost(&words, folder, &load, &address, seconds));
                drop(load.stdin.take());
                let _ = load.wait();
            }
            if found.is_empty() {
                println!("left out: {name} does not run here");
                continue;
            }
            let middle = |of: fn(&OwnCost) -> Option<f64>| {
                let values: Vec<f64> = found.iter().filter_map(of).collect();
                if values.is_empty() { None } else { Some(median(&values)) }
            };
            let percent = |share: Option<f64>| {
                share.map_or("not known".to_owned(), |share| format!("{:.3} %", 100.0 * share))
            };
            println!(
                "{name:24} {beside:26} {:>14} {:>14} {:>18.0}",
                percent(middle(|it| Some(it.process))),
                percent(middle(|it| it.programs)),
                middle(|it| Some(it.switches_per_s)).unwrap_or_default()
            );
        }
    }
}

fn started_load(kind: &str, amount: u32, cpu: &str) -> Option<Child> {
    let own = std::env::current_exe().ok()?;
    let mut load = Command::new("taskset")
        .args(["-c", cpu])
        .arg(own)
        .args([kind, &amount.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let least = if kind == "--threads" { amount as usize } else { 2 };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", load.id())).map_or(0, Iterator::count);
        if tasks > least {
            return Some(load);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = load.kill();
    let _ = load.wait();
    None
}

fn free_address() -> String {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.map_or("127.0.0.1:17982".to_owned(), |address| address.to_string())
}

/// A recorder beside a load, after it has begun; a server is scraped once.
fn own_cost(words: &[&str], folder: &Path, load: &Child, address: &str, seconds: u64) -> Option<OwnCost> {
    let mut recorder = super::spawn(SWTCH, words, folder)?;
    let statistics = std::fs::write(STATISTICS, "1").is_ok();
    let (pid, load_pid) = (recorder.id(), load.id());
    let read = || Some((cpu_ns(pid)?, programs_ns(pid), switches(load_pid)));
    let (begun, before) = (Instant::now(), read());
    if words[0] == "serve" {
        std::thread::sleep(Duration::from_millis(1000 * seconds / 2));
        scrape(address);
    }
    std::thread::sleep(Duration::from_secs(seconds).saturating_sub(begun.elapsed()));
    let (length, after) = (begun.elapsed(), read());
    if statistics {
        let _ = std::fs::write(STATISTICS, "0");
    }
    let gone = recorder.try_wait().ok()?.is_some();
    super::stop(&mut recorder);
    let ((cpu_before, programs_before, switches_before), (cpu, programs, switches)) =
        before.zip(after).filter(|_| !gone)?;
    let length_ns = length.as_nanos() as f64;
    let programs = programs.zip(programs_before).filter(|_| statistics);
    Some(OwnCost {
        process: (cpu - cpu_before) / length_ns,
        programs: programs.map(|(now, before)| (now - before) / length_ns),
        switches_per_s: (switches - switches_before) as f64 / length.as_secs_f64(),
    })
}

fn scrape(address: &str) {
    if let Ok(mut stream) = TcpStream::connect(address) {
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

/// CPU time of a process, of its own and of the kernel for it, ns.
fn cpu_ns(pid: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = text.rsplit(')').next()?.split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() * TICK_NS)
}

/// How long the programs ran that a process holds, ns.
fn programs_ns(pid: u32) -> Option<f64> {
    let mut sum = None;
    for entry in std::fs::read_dir(format!("/proc/{pid}/fdinfo")).ok()?.flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let ran = text.lines().find_map(|line| line.strip_prefix("run_time_ns:"));
        if let Some(ns) = ran.and_then(|ns| ns.trim().parse::<f64>().ok()) {
            *sum.get_or_insert(0.0) += ns;
        }
    }
    sum
}

/// Switches of a process so far.
fn switches(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let of = |text: String| -> u64 {
        let lines = text.lines().filter(|line| line.contains("ctxt_switches"));
        lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
    };
    texts.map(of).sum()
}
