//! Cgroups.

use super::FORMATS;
use crate::cgroup_name::{CgroupKind, PodNames};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use swtch_columns::{Column, Columns, table};

table! {
    /// A cgroup over the whole run: the sums of its own tasks, without those of groups below it. A task that moved counts in its last
    /// group. Of very many groups, those with fewest switches share one row.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct CgroupRow in "cgroups" of FORMATS, earlier earlier;
    {
        /// Its path below the hierarchy's root; of a group that was gone before it could be named, its number.
        pub path: String [none, Key],
        /// Voluntary switches.
        pub voluntary: u64 [count, Sum],
        /// Involuntary switches.
        pub involuntary: u64 [count, Sum],
        /// Time on CPUs, ns.
        pub run_ns: u64 [ns, Sum],
        /// Time in run queues, ns.
        pub wait_ns: u64 [ns, Sum],
        /// Threads seen in it.
        pub tasks: u64 [count, Sum],
        /// Periods in which its quota stopped it; absent without a quota.
        pub throttled_periods: Option<u64> [count, Sum],
        /// Time its quota stopped it, ns, summed over CPUs; absent without a quota.
        pub throttled_ns: Option<u64> [ns, Sum],
        /// What it holds; absent in Traces of earlier recorders, like its name.
        pub kind: Option<CgroupKind> [none, Last],
        /// Its name, by its path: of a container, a pod, a unit, a session or a job. The path where that is of no known shape.
        pub name: Option<String> [none, Last],
        /// The namespace of its pod, by the kubelet's log directories.
        pub namespace: Option<String> [none, Last],
        /// The name of its pod, by the kubelet's log directories.
        pub pod: Option<String> [none, Last],
        /// The name of its container, by the kubelet's log directories.
        pub container: Option<String> [none, Last],
    }
}

/// Before cgroups had names.
fn earlier() -> Vec<Vec<Box<dyn Column<CgroupRow>>>> {
    let mut columns = CgroupRow::columns();
    let named = columns.iter().position(|column| column.about().name == "kind");
    columns.truncate(named.unwrap_or(columns.len()));
    vec![columns]
}

impl CgroupRow {
    /// Its name: the recorder's, or of a Trace without names the one that its path gives.
    pub fn shown_name(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(PodNames::default().name(&self.path).name),
        }
    }
}
