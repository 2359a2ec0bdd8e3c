//! Parameters of workloads by name, each as one option with a name for all workloads that have it.

use crate::quantity::size_bytes;

/// A parameter that a user may give with a workload's name.
#[derive(Debug)]
pub struct ParameterRow {
    /// The option's name, without its dashes.
    pub option: &'static str,
    /// What stands for its value in help; nothing, for an option without one.
    pub value: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// The workloads that have it, and its name in each.
    workloads: &'static [(&'static str, &'static str)],
}

const fn row(
    option: &'static str,
    value: &'static str,
    meaning: &'static str,
    workloads: &'static [(&'static str, &'static str)],
) -> ParameterRow {
    ParameterRow { option, value, meaning, workloads }
}

/// All of them, in the order of help.
#[rustfmt::skip]
pub static PARAMETERS: [ParameterRow; 22] = [
    row("groups", "N", "Groups of senders and receivers (hackbench)", &[("hackbench", "groups")]),
    row("pairs", "N", "Senders of a group, and as many receivers (hackbench); pairs of tasks (ping-pong)",
        &[("hackbench", "pairs"), ("ping-pong", "pairs")]),
    row("loops", "N", "Rounds of each sender or pair (hackbench, ping-pong)",
        &[("hackbench", "loops"), ("ping-pong", "loops")]),
    row("message-bytes", "SIZE", "Length of a message (hackbench, ping-pong)",
        &[("hackbench", "message_bytes"), ("ping-pong", "message_bytes")]),
    row("tasks", "threads|processes|N", "threads or processes (hackbench, ping-pong); the number of tasks (spin)",
        &[("hackbench", "tasks"), ("ping-pong", "tasks"), ("spin", "tasks")]),
    row("transport", "pipe|socket", "What carries the messages (hackbench, ping-pong)",
        &[("hackbench", "channel"), ("ping-pong", "channel")]),
    row("from-start", "", "Include task creation in the measured time (hackbench, schbench, spin)",
        &[("hackbench", "from_start"), ("schbench", "from_start"), ("spin", "from_start")]),
    row("ending", "TIME", "Work of a task before it ends, such as giving much memory back (hackbench)", &[("hackbench", "ending_ns")]),
    row("message-threads", "N", "Message threads (schbench)", &[("schbench", "message_threads")]),
    row("workers", "N", "Workers of each message thread (schbench)", &[("schbench", "workers")]),
    row("requests", "N", "Requests of each worker (schbench)", &[("schbench", "requests")]),
    row("message-work", "TIME", "Work of a message thread for a request (schbench)", &[("schbench", "message_work_ns")]),
    row("think", "TIME", "Time that a worker sleeps in a request (schbench)", &[("schbench", "think_ns")]),
    row("work", "TIME", "Work of a request, a turn, a task or an application (schbench, ping-pong, spin, mix)",
        &[("schbench", "work_ns"), ("ping-pong", "work_ns"), ("spin", "work_ns")]),
    row("program", "NAME", "bt, cg, ep, ft, is, mg, sp or ua (npb)", &[("npb", "program")]),
    row("threads", "N", "Threads (npb)", &[("npb", "threads")]),
    row("scale", "X", "Part of the program's intervals that is run (npb)", &[("npb", "scale")]),
    row("imbalance", "N", "How much intervals differ between threads, in per cent (npb)",
        &[("npb", "imbalance_percent")]),
    row("waiting", "block|spin-yield|spin", "How threads wait at barriers (npb)", &[("npb", "waiting")]),
    row("nice", "N,...", "Nice values, given to the tasks in turn (spin)", &[("spin", "nice")]),
    row("speedups", "S,...", "Speed of each application on a fast core over that on a slow one (mix)", &[("mix", "applications")]),
    row("working-set", "SIZE", "Memory that a task uses between switches (all but mix)",
        &[("hackbench", "working_set_bytes"), ("ping-pong", "working_set_bytes"), ("schbench", "working_set_bytes"),
          ("npb", "working_set_bytes"), ("spin", "working_set_bytes")]),
];

impl ParameterRow {
    /// A value as it is in a specification.
    ///
    /// # Errors
    /// When it is not a number, size or list where one is expected.
    pub fn read(&self, text: &str) -> Result<String, String> {
        fn each<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<Vec<T>, String> {
            text.split(',')
                .map(|part| part.trim().parse().map_err(|error: T::Err| error.to_string()))
                .collect()
        }
        match self.value {
            "N" => text.parse().map(|number: u32| number.to_string()).map_err(|error| error.to_string()),
            "X" => text.parse().map(|number: f64| number.to_string()).map_err(|error| error.to_string()),
            "SIZE" => size_bytes(text).map(|bytes| bytes.to_string()),
            "N,..." => each::<i8>(text).map(|values| format!("{values:?}")),
            "S,..." => each::<f64>(text).map(|values| format!("{values:?}")),
            _ => Ok(text.to_owned()),
        }
    }
}

/// `spec`, a workload by name, with the parameters that were given behind it.
///
/// ```
/// use swtch_sim::workloads::{PARAMETERS, with_parameters};
///
/// let groups = &PARAMETERS[0];
/// let given = [(groups, groups.read("20")?)];
/// assert_eq!(with_parameters("hackbench:loops=2", &given)?, "hackbench:loops=2,groups=20");
/// assert_eq!(with_parameters("spin", &given).unwrap_err(), "--groups is a parameter of hackbench, not of spin");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// When the workload does not have one of them.
pub fn with_parameters(spec: &str, given: &[(&ParameterRow, String)]) -> Result<String, String> {
    let name = spec.split(':').next().unwrap_or(spec);
    let value_of =
        |option| given.iter().find(|(row, _)| row.option == option).map(|(_, value)| value.as_str());
    let speedups = value_of("speedups");
    let mut pairs = Vec::new();
    // The work of applications is in their list.
    for (row, value) in given.iter().filter(|(row, _)| row.option != "work" || speedups.is_none()) {
        let Some((_, key)) = row.workloads.iter().find(|(workload, _)| *workload == name) else {
            let owners: Vec<_> = row.workloads.iter().map(|(workload, _)| *workload).collect();
            return Err(format!("--{} is a parameter of {}, not of {spec}", row.option, owners.join(", ")));
        };
        pairs.push(match row.option {
            "speedups" => format!("{key}={}", applications(value, value_of("work"))),
            _ => format!("{key}={value}"),
        });
    }
    let joint = match (pairs.is_empty(), spec.contains(':')) {
        (true, _) => "",
        (false, true) => ",",
        (false, false) => ":",
    };
    Ok(format!("{spec}{joint}{}", pairs.join(",")))
}

/// A list of applications in TOML, from a list of speedups; with a time for each, they start again and again.
fn applications(speedups: &str, work: Option<&str>) -> String {
    let work = work.map_or_else(String::new, |work| format!(", work_ns = {work:?}"));
    let speedups = speedups.trim_matches(['[', ']']).split(", ").enumerate();
    let one = |(place, speedup)| format!("{{ name = \"app-{}\", speedup = {speedup}{work} }}", letter(place));
    format!("[{}]", speedups.map(one).collect::<Vec<_>>().join(", "))
}

/// `a` to `z`, then numbers.
fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place @ 0..26) => char::from(b'a' + place).to_string(),
        _ => place.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(spec: &str, given: &[(&str, &str)]) -> Result<String, String> {
        let row = |option: &str| PARAMETERS.iter().find(|row| row.option == option).unwrap();
        let read = |(option, text): &(&str, &str)| (row(option), row(option).read(text).unwrap());
        with_parameters(spec, &given.iter().map(read).collect::<Vec<_>>())
    }

    #[test]
    fn options_become_parameters_of_their_workload_only() {
        let given = [("groups", "20"), ("transport", "pipe")];
        assert_eq!(with("hackbench", &given).unwrap(), "hackbench:groups=20,channel=pipe");
        assert_eq!(with("hackbench:loops=2", &given).unwrap(), "hackbench:loops=2,groups=20,channel=pipe");
        assert_eq!(with("spin", &given).unwrap_err(), "--groups is a parameter of hackbench, not of spin");
        assert_eq!(with("spin", &[]).unwrap(), "spin");
        let text = with("mix", &[("work", "1ms"), ("speedups", "3,1.5")]).unwrap();
        assert!(
            text.starts_with("mix:applications=[{ name = \"app-a\", speedup = 3.0, work_ns = \"1ms\" }, "),
            "{text}"
        );
        assert!(text.ends_with("speedup = 1.5, work_ns = \"1ms\" }]"), "{text}");
    }

    #[test]
    fn values_are_checked_where_they_are_given() {
        let read =
            |option: &str, text: &str| PARAMETERS.iter().find(|row| row.option == option).unwrap().read(text);
        assert_eq!(read("message-bytes", "64K"), Ok("65536".to_owned()));
        assert_eq!(read("nice", "-5,0"), Ok("[-5, 0]".to_owned()));
        for (option, text) in [("groups", "x"), ("nice", "1,y"), ("speedups", ""), ("scale", "z")] {
            assert!(read(option, text).is_err(), "{option} {text}");
        }
    }

    #[test]
    fn every_parameter_is_one_of_its_workloads() {
        for row in &PARAMETERS {
            for (workload, _) in row.workloads {
                let text = match (row.option, *workload) {
                    ("tasks", "hackbench" | "ping-pong") => "threads",
                    ("transport", _) => "pipe",
                    ("program", _) => "is",
                    ("waiting", _) => "spin",
                    ("nice", _) => "[1]",
                    ("speedups", _) => "[1.0]",
                    _ if row.value == "TIME" => "1ms",
                    _ if row.value.is_empty() => "true",
                    _ => "1",
                };
                let spec = with_parameters(workload, &[(row, text.to_owned())]).unwrap();
                assert!(crate::spec::Spec::of_name(&spec).is_ok(), "{spec}");
            }
        }
    }
}
