//! The files that a plan names, from this machine's disk.

use crate::error::SimError;
use crate::plan::{PlanFiles, Recording};
use crate::recorded::Recorded;
use std::io;
use std::path::{Path, PathBuf};
use swtch_topology::{Host, TopologyError};
use swtch_trace::model::Origin;
use swtch_trace::tables::SwitchRow;
use swtch_trace::{Trace, TraceError};
use thiserror::Error;

/// Reads them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// Why a plan could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// What was asked for cannot be.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The facts of this machine could not be read.
    #[error(transparent)]
    Host(#[from] TopologyError),
    /// A recording could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl PlanFiles for Disk {
    type Error = PlanError;

    fn text(&mut self, path: &str) -> Result<String, PlanError> {
        std::fs::read_to_string(path).map_err(|source| PlanError::Read { path: path.into(), source })
    }

    fn host(&mut self) -> Result<Host, PlanError> {
        Ok(Host::read(Path::new("/"))?)
    }

    fn recording(&mut self, path: &str) -> Result<Recording, PlanError> {
        let trace = Trace::open(Path::new(path))?;
        let switches = trace.switches().collect::<Result<Vec<SwitchRow>, _>>()?;
        let recorded = Some(Recorded::of(&trace));
        let simulated = trace.header.provenance.origin == Origin::Simulated;
        let recorder = trace.header.provenance.recorder.clone();
        Ok(Recording {
            host: trace.header.host,
            simulated,
            recorder,
            tasks: trace.tables.tasks,
            switches,
            recorded,
        })
    }
}
