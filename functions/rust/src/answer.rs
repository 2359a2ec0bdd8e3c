//! The measurement inside a function, from the request to the document `swtch/faas/2`. Null has its reason in `unavailable`.

use crate::clock::{CPU, WALL, ns};
use crate::request::{Request, number, parse};
use crate::{clock, host, spin, switching};
use serde_json::{Value, json};
use std::env;
use std::sync::{LazyLock, Mutex};
use std::time::{Instant, SystemTime};

/// Of the handlers, all languages alike.
const VERSION: &str = "0.1.0";
/// AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU.
const LAMBDA_MB_PER_CPU: f64 = 1769.0;
/// CPU time of a calibration of work.
const CALIBRATION_NS: i64 = 20_000_000;
const CHUNK: u64 = 20_000;

/// When the process began, read first in `main`.
pub static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Which invocation of this process it is. Two measurements at a time would measure each other.
static INVOCATIONS: Mutex<u64> = Mutex::new(0);

/// A status of HTTP and what is answered. `worked` is called when work that was asked for is done.
pub fn answer(body: &str, query: &str, platform: &str, id: Option<&str>, worked: impl FnOnce()) -> (u16, Value) {
    match parse(body, query) {
        Ok(request) => (200, document(&request, platform, id, worked)),
        Err(why) => (400, json!({ "schema": "swtch/faas-error/1", "error": why })),
    }
}

fn document(request: &Request, platform: &str, id: Option<&str>, worked: impl FnOnce()) -> Value {
    let mut invocation = INVOCATIONS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *invocation += 1;
    let (wall, before, quota) = (ns(WALL), host::usage(), host::quota(&Value::Null));
    let age_ns = STARTED.elapsed().as_nanos() as u64;
    let mut unavailable = Vec::new();
    let described = host::describe(platform, &mut unavailable);
    let mut measurements = Vec::new();
    for method in request["methods"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        match switching::measure(method, request) {
            Ok(found) => measurements.push(found),
            Err(why) => unavailable.push(json!({ "what": format!("measurements.{method}"), "why": why.to_string() })),
        }
    }
    let spun = (number(request, "spin_ms") > 0.0).then(|| spin::spin(request));
    if spun.is_none() {
        unavailable.extend(["cpu", "throttling.spun"].map(|what| json!({ "what": what, "why": "the request has spin_ms 0" })));
    }
    let (cpu, spun) = spun.unwrap_or_default();
    let (ms, iterations) = (number(request, "work_ms"), number(request, "iterations"));
    let work = (ms + iterations > 0.0).then(|| work(ms, iterations as u64, worked));
    let numbers = host::quota(&quota);
    if numbers.is_null() {
        unavailable.push(json!({ "what": "throttling.platform", "why": "no cgroup with the cpu controller can be read" }));
    }
    let after = host::usage();
    json!({
        "schema": "swtch/faas/2", "created_at": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        "handler": { "version": VERSION, "language": "rust", "runtime": "std", "runtime_version": env!("CARGO_PKG_RUST_VERSION"),
            "libc": if cfg!(target_env = "musl") { "musl" } else { "glibc" } },
        "platform": of_platform(platform),
        "invocation": { "number": *invocation, "cold": *invocation == 1, "id": id, "process_age_ns": age_ns },
        "host": described, "request": request, "measurements": measurements, "clock": clock::describe(), "cpu": cpu,
        "throttling": { "spun": spun, "platform": numbers }, "work": work,
        "usage": { "wall_ns": ns(WALL) - wall, "cpu_ns": after[2] - before[2], "voluntary": after[0] - before[0],
            "involuntary": after[1] - before[1], "max_rss_bytes": after[3] },
        "unavailable": unavailable,
    })
}

/// What the platform says of itself, by environment variables; those of `swtch faas` count on any platform.
fn of_platform(name: &str) -> Value {
    let mut used = Vec::new();
    let mut read = |names: &[&'static str]| {
        let found = names.iter().find_map(|&name| env::var(name).ok().map(|text| (name, text)))?;
        used.push(found.0);
        Some(found.1)
    };
    let function = read(&["AWS_LAMBDA_FUNCTION_NAME", "K_SERVICE", "OPENFAAS_NAME", "SWTCH_FUNCTION_NAME"]);
    let memory = read(&["AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "FUNCTION_MEMORY_MB", "SWTCH_FUNCTION_MEMORY_MB"]);
    let memory_mb = memory.and_then(|text| text.parse::<f64>().ok()).map(f64::round);
    let cpus = read(&["SWTCH_FUNCTION_CPUS"]).and_then(|text| text.parse::<f64>().ok());
    let by_memory = memory_mb.filter(|_| name == "lambda").map(|mb| mb / LAMBDA_MB_PER_CPU);
    let source = (!used.is_empty()).then(|| format!("environment variables {}", used.join(", ")));
    json!({ "name": name, "function": function, "memory_mb": memory_mb.map(|mb| mb as u64), "cpus": cpus.or(by_memory), "source": source })
}

/// A number of iterations, or as many as take this many ms of CPU time where nothing interferes.
fn work(ms: f64, asked: u64, worked: impl FnOnce()) -> Value {
    let iterations = if asked > 0 { asked } else { (ms * per_ms()) as u64 };
    let (wall, cpu) = (ns(WALL), ns(CPU));
    iterate(iterations);
    let wall_ns = ns(WALL) - wall;
    worked();
    json!({ "asked_ms": ms, "wall_ns": wall_ns, "cpu_ns": ns(CPU) - cpu, "iterations": iterations })
}

fn per_ms() -> f64 {
    let (begin, mut done) = (ns(CPU), 0);
    while ns(CPU) - begin < CALIBRATION_NS {
        iterate(CHUNK);
        done += CHUNK;
    }
    done as f64 / (ns(CPU) - begin) as f64 * 1e6
}

/// Marsaglia's xorshift: each step needs the one before, so that no compiler shortens it.
fn iterate(times: u64) {
    let mut x = std::hint::black_box(1_u32);
    for _ in 0..times {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    std::hint::black_box(x);
}
