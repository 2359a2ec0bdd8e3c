//! What can go wrong.

use thiserror::Error;

/// What can go wrong in a simulation.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// The workload refers to something that is not there.
    #[error("the workload cannot run: {problem}")]
    Workload {
        /// What, and where.
        problem: String,
    },
    /// Every task waits for something that no task will do.
    #[error("deadlock after {:.6} s of simulated time: {waits}", *at_ns as f64 / 1e9)]
    Deadlock {
        /// When, ns.
        at_ns: u64,
        /// Which task waits for which.
        waits: String,
    },
    /// The workload did not end in time.
    #[error(
        "the workload has not ended after {:.3} s of simulated time (tasks left: {tasks}); allow more with --limit, or end it with a duration",
        *limit_ns as f64 / 1e9
    )]
    Endless {
        /// The time allowed, ns.
        limit_ns: u64,
        /// Tasks that have not ended.
        tasks: u64,
    },
    /// A program goes round without anything that takes time.
    #[error(
        "no time passes at {:.6} s of simulated time: {task} loops without computing, sleeping or waiting; give its loop some work",
        *at_ns as f64 / 1e9
    )]
    NoTimePasses {
        /// The task.
        task: String,
        /// When, ns.
        at_ns: u64,
    },
    /// The policy itself failed.
    #[error("the policy {policy} failed: {problem}")]
    Policy {
        /// Its name.
        policy: String,
        /// What it said.
        problem: String,
    },
    /// The policy leaves runnable tasks without a CPU for ever.
    #[error("the policy {policy} stalled after {:.6} s of simulated time: {problem}", *at_ns as f64 / 1e9)]
    Stalled {
        /// Its name.
        policy: String,
        /// When, ns.
        at_ns: u64,
        /// Which tasks, and where they are.
        problem: String,
    },
    /// The one that watches the run stopped it.
    #[error("stopped after {:.6} s of simulated time", *at_ns as f64 / 1e9)]
    Stopped {
        /// When, ns.
        at_ns: u64,
    },
    /// What was asked for cannot be: a specification, a machine, a policy's or a workload's parameters.
    #[error("{place}: {problem}")]
    Input {
        /// `file:line:column`, both counted from 1, or what it is of, such as `workload hackbench`.
        place: String,
        /// The text or value that is there, and the expected one.
        problem: String,
    },
    /// Nothing has this name.
    #[error("there is no {what} \"{name}\"; there are {known}")]
    Unknown {
        /// `machine`, `policy` or `workload`.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
}

impl SimError {
    pub(crate) fn input(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Input { place: place.into(), problem: problem.into() }
    }

    pub(crate) fn of_workload(workload: &str, problem: impl Into<String>) -> Self {
        Self::input(format!("workload {workload}"), problem)
    }

    pub(crate) fn unknown(what: &'static str, name: &str, known: String) -> Self {
        Self::Unknown { what, name: name.to_owned(), known }
    }

    /// Whether the run failed, or was stopped; otherwise what was asked for cannot be.
    #[must_use]
    pub fn is_of_the_run(&self) -> bool {
        matches!(
            self,
            Self::Deadlock { .. }
                | Self::Endless { .. }
                | Self::NoTimePasses { .. }
                | Self::Policy { .. }
                | Self::Stalled { .. }
                | Self::Stopped { .. }
        )
    }
}
