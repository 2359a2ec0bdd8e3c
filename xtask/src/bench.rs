//! The full benchmarks; their small sizes run among the tests.

use crate::metadata::workspace;
use crate::process::{cargo, stream};
use anyhow::Result;

/// The chore: runs every benchmark of every crate, and whether all succeeded.
pub(crate) fn bench() -> Result<bool> {
    let mut succeeded = true;
    let mut count = 0;
    for package in workspace()? {
        for (_, name) in package.targets.iter().filter(|(kind, _)| kind == "bench") {
            count += 1;
            succeeded &= stream(cargo().args(["bench", "-p", &package.name, "--bench", name]))?.succeeded;
        }
    }
    println!("{count} benchmarks run");
    Ok(succeeded)
}
