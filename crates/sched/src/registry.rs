//! The schedulers of others in Cargo's registry that are known.

use swtch_units::TextTable;

/// A scheduler of the registry that is known.
#[derive(Clone, Copy, Debug)]
pub struct RegistryScheduler {
    /// Without `scx_`.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// The version that was built and ran a load in a virtual machine; absent where none was.
    pub tried: Option<&'static str>,
}

/// What is known of the sched_ext project's schedulers. Others can be given by name as well.
pub static REGISTRY: [RegistryScheduler; 8] = [
    RegistryScheduler {
        name: "beerland",
        about: "tasks stay where their data is, on many CPUs",
        tried: Some("1.1.4"),
    },
    RegistryScheduler { name: "bpfland", about: "interactive tasks before others", tried: Some("1.1.4") },
    RegistryScheduler {
        name: "cosmos",
        about: "tasks stay on their CPU; short slices when busy",
        tried: Some("1.1.7"),
    },
    RegistryScheduler {
        name: "flash",
        about: "predictable latency, by earliest deadline",
        tried: Some("1.1.4"),
    },
    RegistryScheduler {
        name: "lavd",
        about: "latency of games and desktops, by virtual deadlines",
        tried: None,
    },
    RegistryScheduler {
        name: "p2dq",
        about: "two choices of queue for balance, slices by behaviour",
        tried: Some("1.1.4"),
    },
    RegistryScheduler {
        name: "rusty",
        about: "a queue for each last-level cache, balanced in user space",
        tried: Some("1.1.4"),
    },
    RegistryScheduler {
        name: "tickless",
        about: "few ticks: servers and virtual machines",
        tried: Some("1.1.4"),
    },
];

/// Of a known scheduler, what it is for.
pub(crate) fn about_in_registry(name: &str) -> Option<&'static str> {
    REGISTRY.iter().find(|known| known.name == name).map(|known| known.about)
}

/// Those that are known, as text.
pub fn registry_table() -> String {
    let mut table = TextTable::new(["scheduler", "tried", "what it is for"]).left([1, 2]);
    for known in &REGISTRY {
        table.row([known.name, known.tried.unwrap_or("no"), known.about]);
    }
    table.to_string()
}
