//! Has the kernel make an energy model of its CPUs: the driver of their frequencies is a module.

use super::FREQUENCY_DRIVER;
use crate::protocol::Trouble;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The kernel unpacks the module itself (`include/uapi/linux/module.h`).
const COMPRESSED_FILE: i32 = 4;
/// Whether stock places tasks by energy. Since Linux 6.7 it says nothing where it cannot (`kernel/sched/topology.c`).
const ENERGY_AWARE: &str = "/proc/sys/kernel/sched_energy_aware";
/// The kernel looks at its domains again in a work item of its own.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Loads the driver, where it travels, and waits until the kernel says that it places tasks by energy.
pub(super) fn begin() -> Result<(), Trouble> {
    if !Path::new(FREQUENCY_DRIVER).is_file() {
        return Ok(());
    }
    let trouble = |why: String| Trouble::Energy { why };
    load().map_err(|error| trouble(format!("its driver of frequencies cannot be loaded: {error}")))?;
    let mut waited = Duration::ZERO;
    while !fs::read_to_string(ENERGY_AWARE).is_ok_and(|text| text.trim() == "1") {
        if waited > PATIENCE {
            return Err(trouble(format!("{ENERGY_AWARE} is not 1 with the driver of frequencies loaded")));
        }
        thread::sleep(LOOK_EVERY);
        waited += LOOK_EVERY;
    }
    Ok(())
}

fn load() -> io::Result<()> {
    let file = File::open(FREQUENCY_DRIVER)?;
    Ok(rustix::system::finit_module(&file, c"", COMPRESSED_FILE)?)
}
