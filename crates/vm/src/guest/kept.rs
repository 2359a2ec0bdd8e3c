//! The guest's side of a boot that is kept: it stops where it has nothing to do yet, and goes on with files that the host has laid into the
//! memory of a device.

use super::Resumed;
use super::settle::settle;
use super::unpack::unpack;
use rustix::time::{ClockId, Timespec, clock_settime};
use std::fs;
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiled by the build script from `device_map.c`.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device_map"));
const PROGRAM_PLACE: &str = "/.swtch/device_map";
/// Takes what is written for its random numbers.
const RANDOM: &str = "/dev/urandom";
const DEVICES: &str = "/sys/bus/pci/devices";
/// Vendor, device, and which of its memories: QEMU's pvpanic (docs/specs/pci-ids.rst, 7.2).
const STOPS: (&str, &str, &str) = ("0x1b36", "0x0011", "resource0");
/// Likewise of ivshmem.
const HOLDS_FILES: (&str, &str, &str) = ("0x1af4", "0x1110", "resource2");
/// More than a pipe has by default: fewer turns between the one that reads and the one that writes.
const BUFFER_BYTES: usize = 256 << 10;

/// Puts the program for devices into its place, and has random numbers from the start: a program that asks for some would wait for seconds, or for ever.
pub(super) fn have_random_numbers() -> io::Result<()> {
    fs::write(PROGRAM_PLACE, PROGRAM)?;
    fs::set_permissions(PROGRAM_PLACE, fs::Permissions::from_mode(0o700))?;
    // A guest without them is as slow as it was.
    let _ = Command::new(PROGRAM_PLACE).args(["count", RANDOM]).status();
    Ok(())
}

/// Has the machine stopped and kept. It resumes as a copy of it, any number of times, and each finds its own files.
pub(super) fn stop_and_unpack() -> io::Result<()> {
    let (stops, files) = (memory_of(STOPS)?, memory_of(HOLDS_FILES)?);
    // What the kernel still does after its start is in the past then, for all copies.
    let _ = settle();
    let status = Command::new(PROGRAM_PLACE).arg("stop").arg(&stops).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{} cannot be written: {status}", stops.display())));
    }
    let mut reader = Command::new(PROGRAM_PLACE).arg("read").arg(&files).stdout(Stdio::piped()).spawn()?;
    let pipe = reader.stdout.take().ok_or_else(|| io::Error::other("a pipe is missing"))?;
    unpack(BufReader::with_capacity(BUFFER_BYTES, pipe), Path::new("/"))?;
    let status = reader.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} cannot be read: {status}", files.display())))
    }
}

/// Sets the clock and stirs the random numbers; a guest that cannot has those of the machine that was kept.
pub(super) fn catch_up(resumed: &Resumed) {
    let now = Timespec {
        tv_sec: (resumed.now_ns / 1_000_000_000) as i64,
        tv_nsec: (resumed.now_ns % 1_000_000_000) as _,
    };
    let _ = clock_settime(ClockId::Realtime, now);
    let _ = fs::write(RANDOM, &resumed.random);
    let _ = Command::new(PROGRAM_PLACE).args(["mix", RANDOM]).status();
}

/// Where sysfs has a device's memory.
fn memory_of((vendor, device, memory): (&str, &str, &str)) -> io::Result<PathBuf> {
    let says = |place: &Path, name: &str, value: &str| {
        fs::read_to_string(place.join(name)).is_ok_and(|text| text.trim() == value)
    };
    let mut places = fs::read_dir(DEVICES)?.flatten().map(|entry| entry.path());
    let place = places.find(|place| says(place, "vendor", vendor) && says(place, "device", device));
    place
        .map(|place| place.join(memory))
        .ok_or_else(|| io::Error::other(format!("the machine has no device {vendor}:{device}")))
}
