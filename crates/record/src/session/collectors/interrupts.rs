//! Interrupts: how often by the kernel's own tables, how long by the source where it sees that.

use crate::system::{CounterRow, Difference};
use std::cmp::Reverse;
use std::collections::HashMap;
use swtch_trace::accumulate::Tables;
use swtch_trace::fields;
use swtch_trace::model::{Header, Reconciliation};
use swtch_trace::tables::{InterruptKind, InterruptRow};

/// Lines of `/proc/interrupts` that are not in the sum of `/proc/stat` (arch/x86/kernel/irq.c, v6.18). TLB shootdowns are among the
/// function calls (`CAL`) already, and the others are counted for this table only.
const NOT_IN_THE_SUM: [&str; 8] = ["TLB", "MIS", "HYP", "HRE", "HVS", "PIN", "NPI", "PIW"];

/// Puts a row for each line that counted something, and one for each CPU where it did. Times are in the source's rows.
pub(crate) fn add(system: &Difference, header: &mut Header, tables: &mut Tables) {
    let timed = std::mem::take(&mut tables.interrupts);
    let times: HashMap<(bool, &str, Option<u32>), Option<u64>> =
        timed.iter().map(|row| (key(row.kind, &row.line, row.cpu), row.ns)).collect();
    for (kind, table) in [(InterruptKind::Hard, &system.interrupts), (InterruptKind::Soft, &system.softirqs)]
    {
        let Some(table) = table else { continue };
        for line in table.rows.iter().filter(|line| line.total() > 0) {
            let of_cpus = table.cpus.iter().map(|cpu| Some(*cpu)).zip(line.counts.iter().copied());
            let all = std::iter::once((None, line.total())).chain(of_cpus);
            tables.interrupts.extend(all.filter(|(_, count)| *count > 0).map(|(cpu, count)| InterruptRow {
                kind,
                line: line.line.clone(),
                name: line.name.clone(),
                cpu,
                count,
                ns: times.get(&key(kind, &line.line, cpu)).copied().flatten(),
            }));
        }
    }
    tables.interrupts.sort_by_key(|row| (row.cpu.is_some(), Reverse(row.count)));
    let source = "/proc/interrupts and /proc/softirqs, the whole machine";
    header.set_source("interrupts.count", source);
    if timed.is_empty() {
        let why = "only BPF programs that see every event see how long an interrupt takes";
        header.miss(fields::INTERRUPTS_NS, why);
    } else {
        header.set_source("interrupts.ns", "bpf, the whole machine");
    }
}

fn key(kind: InterruptKind, line: &str, cpu: Option<u32>) -> (bool, &str, Option<u32>) {
    (kind == InterruptKind::Hard, line, cpu)
}

/// Compares the sum of the lines with the kernel's own sum. Both are read at nearly the same time, so they differ by the interrupts in
/// between. A line that was given up, or a CPU that went offline, counts in the kernel's sum only.
pub(super) fn reconcile(system: &Difference, header: &mut Header) {
    let (Some(kernel), Some(table)) = (system.interrupts_total, &system.interrupts) else { return };
    // What the sum holds is known of these two only; elsewhere the two need not measure the same.
    let architecture = header.host.architecture.as_str();
    let ours = |row: &&CounterRow| match architecture {
        "x86_64" => !NOT_IN_THE_SUM.contains(&row.line.as_str()),
        _ => row.machine.is_none(),
    };
    if !["x86_64", "aarch64"].contains(&architecture) {
        return;
    }
    header.reconciliation.push(Reconciliation {
        what: "interrupts".to_owned(),
        counted: table.rows.iter().filter(ours).map(CounterRow::total).sum(),
        kernel,
        source: "/proc/stat intr".to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::CounterTable;
    use swtch_topology::Host;
    use swtch_trace::model::{Provenance, Scope};

    fn line(line: &str, counts: &[u64]) -> CounterRow {
        CounterRow { line: line.into(), counts: counts.to_vec(), ..CounterRow::default() }
    }

    fn difference() -> Difference {
        let rows =
            vec![line("24", &[5, 0]), line("LOC", &[100, 200]), line("25", &[0, 0]), line("TLB", &[7, 7])];
        Difference {
            interrupts: Some(CounterTable { cpus: vec![0, 3], rows }),
            interrupts_total: Some(306),
            ..Difference::default()
        }
    }

    fn header(architecture: &str) -> Header {
        let host = Host { architecture: architecture.into(), ..Host::default() };
        Header::new(Provenance::default(), host, Scope::Machine)
    }

    #[test]
    fn every_line_has_its_sum_first_and_its_parts_make_it_up() {
        let timed = |cpu, ns| InterruptRow {
            kind: InterruptKind::Hard,
            line: "LOC".into(),
            cpu,
            count: 1,
            ns: Some(ns),
            ..InterruptRow::default()
        };
        let mut tables =
            Tables { interrupts: vec![timed(None, 30), timed(Some(3), 20)], ..Tables::default() };
        add(&difference(), &mut header("x86_64"), &mut tables);
        let found: Vec<(&str, Option<u32>, u64, Option<u64>)> =
            tables.interrupts.iter().map(|row| (row.line.as_str(), row.cpu, row.count, row.ns)).collect();
        assert_eq!(
            found,
            [
                ("LOC", None, 300, Some(30)),
                ("TLB", None, 14, None),
                ("24", None, 5, None),
                ("LOC", Some(3), 200, Some(20)),
                ("LOC", Some(0), 100, None),
                ("TLB", Some(0), 7, None),
                ("TLB", Some(3), 7, None),
                ("24", Some(0), 5, None),
            ]
        );
    }

    #[test]
    fn what_counts_twice_is_not_set_beside_the_kernels_sum() {
        let mut of = header("x86_64");
        reconcile(&difference(), &mut of);
        assert_eq!((of.reconciliation[0].counted, of.reconciliation[0].difference()), (305, -1));
        let mut other = header("s390x");
        reconcile(&difference(), &mut other);
        assert!(other.reconciliation.is_empty());
    }
}
