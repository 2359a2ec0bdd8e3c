//! Pressure stall information (Documentation/accounting/psi.rst, kernel/sched/psi.c, Linux 6.18).

use swtch_trace::model::Unavailable;

/// What work can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// A processor.
    Cpu,
    /// A disk.
    Io,
    /// Memory that is being reclaimed or read back.
    Memory,
    /// The end of interrupts (since Linux 6.1, where their time is accounted).
    Irq,
}

impl Resource {
    /// Every resource.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Io, Self::Memory, Self::Irq];

    /// Its name in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Io => "io",
            Self::Memory => "memory",
            Self::Irq => "irq",
        }
    }

    pub(super) fn path(self) -> String {
        format!("proc/pressure/{}", self.name())
    }
}

/// Time in which work waited for a resource, ns, in steps of a microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one thread waited.
    pub some_ns: Option<u64>,
    /// All threads that had work waited.
    pub full_ns: Option<u64>,
}

impl Pressure {
    pub(super) fn both(self, other: Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| Some(operation(one?, other?));
        Self { some_ns: both(self.some_ns, other.some_ns), full_ns: both(self.full_ns, other.full_ns) }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same of `full`; either line may be missing.
pub(super) fn parse(text: &str) -> Pressure {
    let total = |name: &str| {
        let mut fields = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.split(' ');
        let us: u64 = fields.find_map(|field| field.strip_prefix("total="))?.trim().parse().ok()?;
        Some(us.saturating_mul(1000))
    };
    Pressure { some_ns: total("some"), full_ns: total("full") }
}

/// Parses the file of a resource of the whole machine, or says why there is nothing.
pub(super) fn judged(
    resource: Resource,
    text: Result<String, String>,
    unavailable: &mut Vec<Unavailable>,
) -> Option<Pressure> {
    let name = resource.name();
    let mut row = |what: String, why: String| unavailable.push(Unavailable::new(what, why));
    let mut pressure = match text {
        Ok(text) => parse(&text),
        Err(why) => {
            row(format!("pressure.{name}"), format!("{why}; {}", how_to_get(resource)));
            return None;
        }
    };
    if pressure == Pressure::default() {
        row(format!("pressure.{name}"), format!("/proc/pressure/{name} holds no total"));
        return None;
    }
    if resource == Resource::Cpu && pressure.full_ns == Some(0) {
        // A processor that someone waits for is running something else: of the whole machine this is always zero.
        pressure.full_ns = None;
    }
    for (half, time) in [("some", pressure.some_ns), ("full", pressure.full_ns)] {
        if time.is_none() {
            row(format!("pressure.{name}.{half}"), format!("this kernel does not define it for {name}"));
        }
    }
    Some(pressure)
}

fn how_to_get(resource: Resource) -> &'static str {
    match resource {
        Resource::Irq => {
            "it takes Linux 6.1 or later with CONFIG_IRQ_TIME_ACCOUNTING and pressure information (psi=1)"
        }
        _ => "it takes a kernel with CONFIG_PSI, and psi=1 on its command line where that is off by default",
    }
}
