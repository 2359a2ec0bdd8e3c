//! What can go wrong.

/// Why something cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// A specification says something that cannot be.
    #[error("{place}: {problem}")]
    Spec {
        /// `file:line:column`, both counted from 1; where the format does not tell, the path of keys, such as `file: tasks.reader.loop`.
        place: String,
        /// What is there and what was expected.
        problem: String,
    },
    /// No machine has this name.
    #[error("there is no machine \"{name}\"; there are {known}, and a number of CPUs such as 64")]
    UnknownMachine {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A machine cannot be made of what is known.
    #[error("machine \"{name}\": {problem}")]
    Machine {
        /// Its name.
        name: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// No workload has this name.
    #[error("there is no workload \"{name}\"; there are {known}")]
    UnknownWorkload {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A workload cannot be made with these parameters.
    #[error("workload {workload}: {problem}")]
    Parameters {
        /// Its name.
        workload: String,
        /// What is wrong and what was expected.
        problem: String,
    },
}

impl SimError {
    pub(crate) fn parameters(workload: &str, problem: impl Into<String>) -> Self {
        Self::Parameters { workload: workload.to_owned(), problem: problem.into() }
    }
}
