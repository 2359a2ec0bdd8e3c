//! Two eventfds; the baseline writes to and reads from a third.

use super::{Side, Signal, broken};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

pub(crate) struct EventfdPair {
    follower: OwnedFd,
    leader: OwnedFd,
    own: OwnedFd,
}

impl EventfdPair {
    pub(crate) fn new() -> Result<Self, i32> {
        let make = || eventfd(0, EventfdFlags::CLOEXEC).map_err(rustix::io::Errno::raw_os_error);
        Ok(Self { follower: make()?, leader: make()?, own: make()? })
    }
}

#[inline(always)]
fn put(fd: &OwnedFd) {
    if rustix::io::write(fd, &1u64.to_ne_bytes()) != Ok(8) {
        broken();
    }
}

#[inline(always)]
fn take(fd: &OwnedFd) {
    if rustix::io::read(fd, &mut [0u8; 8]) != Ok(8) {
        broken();
    }
}

impl Signal for EventfdPair {
    #[inline(always)]
    fn send(&self, from: Side) {
        put(if from == Side::Leader { &self.follower } else { &self.leader });
    }

    #[inline(always)]
    fn receive(&self, by: Side) {
        take(if by == Side::Leader { &self.leader } else { &self.follower });
    }

    #[inline(always)]
    fn loop_back(&self) {
        put(&self.own);
        take(&self.own);
    }
}
