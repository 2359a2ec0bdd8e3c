//! Two eventfds; the baseline writes to and reads from a third.

use super::{HandOff, HandOffPair, broken};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

pub(crate) type EventfdPair = HandOffPair<Eventfd>;

pub(crate) struct Eventfd(OwnedFd);

impl HandOff for Eventfd {
    fn new() -> Result<Self, i32> {
        eventfd(0, EventfdFlags::CLOEXEC).map(Self).map_err(rustix::io::Errno::raw_os_error)
    }

    #[inline(always)]
    fn put(&self) {
        if rustix::io::write(&self.0, &1u64.to_ne_bytes()) != Ok(8) {
            broken();
        }
    }

    #[inline(always)]
    fn take(&self) {
        if rustix::io::read(&self.0, &mut [0u8; 8]) != Ok(8) {
            broken();
        }
    }
}
