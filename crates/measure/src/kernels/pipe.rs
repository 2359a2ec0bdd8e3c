//! One byte back and forth over two pipes; the baseline sends it to itself through a third.

use super::{Side, Signal, broken};
use crate::sys::Pipe;

pub(crate) struct PipePair {
    follower: Pipe,
    leader: Pipe,
    own: Pipe,
}

impl PipePair {
    pub(crate) fn new() -> Result<Self, i32> {
        Ok(Self { follower: Pipe::new()?, leader: Pipe::new()?, own: Pipe::new()? })
    }
}

#[inline(always)]
fn put(pipe: &Pipe) {
    if rustix::io::write(&pipe.write, &[0]) != Ok(1) {
        broken();
    }
}

#[inline(always)]
fn take(pipe: &Pipe) {
    if rustix::io::read(&pipe.read, &mut [0u8; 1]) != Ok(1) {
        broken();
    }
}

impl Signal for PipePair {
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
