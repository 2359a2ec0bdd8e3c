//! Did it get worse, what to change, did it help: what two recordings, commands or builds differ in, and what to do about it.
//!
//! Documents come out of here, and `report` prints them.
//!
//! Modules: `runs` (commands run again and again, each run recorded).
#![forbid(unsafe_code)]

pub mod runs;
