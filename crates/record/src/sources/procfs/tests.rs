//! Made-up machines, where every number is known, and this machine, where only orders are.

mod fixtures;
mod live;
mod made_up;
mod targets;
