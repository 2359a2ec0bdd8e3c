//! The capabilities of a machine, as `swtch doctor` prints them, in at most [`super::WIDTH`] columns.

use super::paragraph;
use swtch_topology::Host;
use swtch_topology::capability::{Capability, State};

/// A symbol, a space, the longest word for a state, two spaces.
const STATE_WIDTH: usize = 11;
const LABEL_WIDTH: usize = 8;

/// The counts, the machine, and for each capability its state and its finding. Below a limited or missing one, what that costs and what
/// enables it. `colour` paints the states for a terminal.
pub fn capabilities(host: &Host, rows: &[Capability], colour: bool) -> String {
    let mut out = format!("{}\n", verdict(rows));
    out.push_str(&paragraph("", &machine(host), 0));
    out.push('\n');
    let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0) + 2;
    for row in rows {
        let head = format!("{}{:name_width$}", state(row.state, colour), row.name);
        out.push_str(&paragraph(&head, &row.finding, STATE_WIDTH + name_width));
        for (label, text) in [("costs", &row.costs), ("enable", &row.enable)] {
            if let Some(text) = text {
                let head = format!("{:STATE_WIDTH$}{label:LABEL_WIDTH$}", "");
                out.push_str(&paragraph(&head, text, STATE_WIDTH + LABEL_WIDTH));
            }
        }
    }
    out
}

/// `17 capabilities: 12 ok, 3 limited, 2 missing`.
fn verdict(rows: &[Capability]) -> String {
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    format!(
        "{} capabilities: {} ok, {} limited, {} missing",
        rows.len(),
        count(State::Ok),
        count(State::Limited),
        count(State::Missing)
    )
}

fn machine(host: &Host) -> String {
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    let cpus = if online == 1 { "CPU" } else { "CPUs" };
    let model = host.cpu_model.as_deref().unwrap_or("unnamed CPU");
    format!("{model}, {}, {online} {cpus}, Linux {}", host.architecture, host.kernel.release)
}

/// The symbol shows the state without colour, the word without the symbol's font.
fn state(state: State, colour: bool) -> String {
    let (text, paint) = match state {
        State::Ok => ("✓ ok", "32"),
        State::Limited => ("~ limited", "33"),
        State::Missing => ("✗ missing", "31"),
    };
    let blanks = " ".repeat(STATE_WIDTH.saturating_sub(text.chars().count()));
    if colour { format!("\x1b[{paint}m{text}\x1b[0m{blanks}") } else { format!("{text}{blanks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, state: State, finding: &str, costs: Option<&str>, enable: Option<&str>) -> Capability {
        Capability {
            name: name.to_owned(),
            state,
            finding: finding.to_owned(),
            costs: costs.map(str::to_owned),
            enable: enable.map(str::to_owned),
        }
    }

    fn host() -> Host {
        let mut host = Host { architecture: "x86_64".to_owned(), ..Host::default() };
        host.cpu_model = Some("AMD EPYC".to_owned());
        host.kernel.release = "6.18.44".to_owned();
        host.cpus = vec![swtch_topology::host::Cpu { online: true, ..Default::default() }; 2];
        host
    }

    #[test]
    fn the_verdict_comes_first_and_losses_are_explained() {
        let rows = [
            row("pinning", State::Ok, "works", None, None),
            row(
                "smt",
                State::Missing,
                "each core runs one thread",
                Some("the smt-sibling figures are missing"),
                None,
            ),
            row(
                "frequency-governor",
                State::Limited,
                "powersave",
                Some("the clock changes"),
                Some("`sudo cpupower frequency-set -g performance`"),
            ),
        ];
        let expected = "\
3 capabilities: 1 ok, 1 limited, 1 missing
AMD EPYC, x86_64, 2 CPUs, Linux 6.18.44

✓ ok       pinning             works
✗ missing  smt                 each core runs one thread
           costs   the smt-sibling figures are missing
~ limited  frequency-governor  powersave
           costs   the clock changes
           enable  `sudo cpupower frequency-set -g performance`
";
        assert_eq!(capabilities(&host(), &rows, false), expected);
    }

    #[test]
    fn colour_changes_nothing_but_the_colour() {
        let rows = [row("pinning", State::Ok, "works", None, None)];
        let painted = capabilities(&host(), &rows, true);
        assert!(painted.contains("\x1b[32m✓ ok\x1b[0m"));
        assert_eq!(
            painted.replace("\x1b[32m", "").replace("\x1b[0m", ""),
            capabilities(&host(), &rows, false)
        );
    }

    #[test]
    fn long_texts_wrap_within_100_columns() {
        let text = "word ".repeat(60);
        let rows = [row("page-table-isolation", State::Missing, &text, Some(&text), Some(&text))];
        let table = capabilities(&host(), &rows, false);
        assert!(table.lines().all(|line| line.chars().count() <= super::super::WIDTH), "{table}");
        assert_eq!(table.matches("word").count(), 180);
    }

    #[test]
    fn no_rows_make_a_table_all_the_same() {
        assert!(
            capabilities(&Host::default(), &[], false)
                .starts_with("0 capabilities: 0 ok, 0 limited, 0 missing\n")
        );
    }
}
