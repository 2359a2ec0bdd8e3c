//! Pressure stall information (Documentation/accounting/psi.rst, kernel/sched/psi.c, Linux 6.18).

use swtch_trace::model::{Pressure, Unavailable};

/// What work can wait for: a CPU, a disk, memory that is being reclaimed or read back, and the end of interrupts (since Linux 6.1, where their
/// time is accounted).
pub(super) const RESOURCES: [&str; 4] = ["cpu", "io", "memory", "irq"];

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same of `full`; either line may be missing.
pub(super) fn parse(resource: &str, text: &str) -> Pressure {
    let total = |name: &str| {
        let mut fields = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.split(' ');
        let us: u64 = fields.find_map(|field| field.strip_prefix("total="))?.trim().parse().ok()?;
        Some(us.saturating_mul(1000))
    };
    Pressure { resource: resource.to_owned(), some_ns: total("some"), full_ns: total("full") }
}

/// Parses the file of a resource of the whole machine, or says why there is nothing.
pub(super) fn judged(
    name: &str,
    text: Result<String, String>,
    unavailable: &mut Vec<Unavailable>,
) -> Option<Pressure> {
    let mut row = |what: String, why: String| unavailable.push(Unavailable::new(what, why));
    let mut pressure = match text {
        Ok(text) => parse(name, &text),
        Err(why) => {
            row(format!("pressure.{name}"), format!("{why}; {}", how_to_get(name)));
            return None;
        }
    };
    if pressure.some_ns.or(pressure.full_ns).is_none() {
        row(format!("pressure.{name}"), format!("/proc/pressure/{name} holds no total"));
        return None;
    }
    if name == "cpu" && pressure.full_ns == Some(0) {
        // A CPU that someone waits for is running something else: of the whole machine this is always zero.
        pressure.full_ns = None;
    }
    for (half, time) in [("some", pressure.some_ns), ("full", pressure.full_ns)] {
        if time.is_none() {
            row(format!("pressure.{name}.{half}"), format!("this kernel does not define it for {name}"));
        }
    }
    Some(pressure)
}

fn how_to_get(resource: &str) -> &'static str {
    match resource {
        "irq" => {
            "it takes Linux 6.1 or later with CONFIG_IRQ_TIME_ACCOUNTING and pressure information (psi=1)"
        }
        _ => "it takes a kernel with CONFIG_PSI, and psi=1 on its command line where that is off by default",
    }
}
