//! Warnings as letters, so that a row stays within its line. A legend beneath the table explains each letter once.

use super::paragraph;
use swtch_profile::vocabulary::Flag;

/// The flags of one table, in the order in which they were met.
#[derive(Default)]
pub(super) struct Flags(Vec<Flag>);

impl Flags {
    /// The letters of a row's flags; nothing when it has none.
    pub(super) fn letters(&mut self, flags: &[Flag]) -> String {
        flags.iter().map(|flag| self.letter(*flag)).collect()
    }

    fn letter(&mut self, flag: Flag) -> char {
        let known = self.0.iter().position(|known| *known == flag).unwrap_or_else(|| {
            self.0.push(flag);
            self.0.len() - 1
        });
        ('a'..='z').cycle().nth(known).unwrap_or('?')
    }

    /// What the letters stand for, a line or two each; nothing when no row has a flag.
    pub(super) fn legend(&mut self) -> String {
        let flags = self.0.clone();
        flags
            .iter()
            .map(|flag| {
                let head = format!("  {}: ", self.letter(*flag));
                paragraph(&head, &format!("{flag}, {}", flag.meaning()), head.len())
            })
            .collect()
    }
}
