//! One byte back and forth over two pipes; the baseline sends it to itself through a third.

use super::{HandOff, HandOffPair, broken};
use crate::sys::Pipe;

pub(crate) type PipePair = HandOffPair<Pipe>;

impl HandOff for Pipe {
    fn new() -> Result<Self, i32> {
        Pipe::new()
    }

    #[inline(always)]
    fn put(&self) {
        if rustix::io::write(&self.write, &[0]) != Ok(1) {
            broken();
        }
    }

    #[inline(always)]
    fn take(&self) {
        if rustix::io::read(&self.read, &mut [0u8; 1]) != Ok(1) {
            broken();
        }
    }
}
