//! Published tables about context switches and fair schedulers, each computed again and compared.
//!
//! An experiment is a function from options to tables ([`EXPERIMENTS`]). Every row has the published figure, the figure that comes out
//! here, and its tolerance or why it is not met. `docs/results` has the tables with the text around them.
//!
//! Modules: `registry` names the experiments, a module each: `all_mixes`, `allowed`, `estimation`, `guaranteed`, `hackbench`, `mix`, `mixes`, `npb`,
//! `parallel`, `phi`, `r_fair`, `regions`, `ring`, `speedups`, `two_apps`; [`cache_model`] is a cache that tasks take turns in; `table` and `document`
//! write them.
#![forbid(unsafe_code)]

mod all_mixes;
mod allowed;
pub mod cache_model;
mod document;
mod estimation;
mod guaranteed;
mod hackbench;
mod mix;
mod mixes;
mod npb;
mod parallel;
mod phi;
mod r_fair;
mod regions;
mod registry;
mod ring;
mod speedups;
mod table;
mod two_apps;

pub use document::{Counted, Pages, names};
pub use registry::{EXPERIMENTS, Experiment, Options};
pub use table::{Grid, Published, Row, Standing, Table};
