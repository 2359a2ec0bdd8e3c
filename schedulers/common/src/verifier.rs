//! What the kernel's verifier made of a scheduler's programs.

use crate::error::SchedulerError;
use libbpf_rs::{PrintLevel, set_print};
use std::sync::{Mutex, PoisonError};
use swtch_sched_ext::Verified;

/// The verifier writes only its statistics (`BPF_LOG_STATS`, Linux include/linux/bpf_verifier.h).
pub(crate) const STATISTICS_LEVEL: u32 = 4;

/// What libbpf says while it loads; its callback has no place for anything of the caller's.
static SAID: Mutex<String> = Mutex::new(String::new());

#[expect(clippy::needless_pass_by_value, reason = "the signature is libbpf's")]
fn note(_level: PrintLevel, text: String) {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
}

/// Listens to libbpf while something is loaded.
pub(crate) fn listening(
    load: impl FnOnce() -> Result<(), SchedulerError>,
) -> Result<Vec<Verified>, SchedulerError> {
    let before = set_print(Some((PrintLevel::Debug, note)));
    let result = load();
    set_print(before);
    let said = std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner));
    result.map(|()| parse(&said))
}

/// `prog 'NAME': -- BEGIN PROG LOAD LOG --`, and further down `processed N insns (limit 1000000) max_states_per_insn A total_states B
/// peak_states C mark_read D`.
fn parse(said: &str) -> Vec<Verified> {
    let mut programs = Vec::new();
    let mut name = None;
    for line in said.lines() {
        if line.contains("-- BEGIN PROG LOAD LOG --") {
            name = line.split('\'').nth(1);
        }
        let (Some(program), true) = (name, line.starts_with("processed ")) else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |key: &str| {
            let place = words.iter().position(|word| *word == key)?;
            words.get(place + 1)?.parse().ok()
        };
        programs.push(Verified {
            program: program.to_owned(),
            instructions: after("processed").unwrap_or(0),
            states: after("total_states").unwrap_or(0),
            peak_states: after("peak_states").unwrap_or(0),
        });
        name = None;
    }
    programs.sort_by(|a, b| a.program.cmp(&b.program));
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_found_by_program() {
        let said = "libbpf: prog 'b': -- BEGIN PROG LOAD LOG --\nprocessed 7 insns (limit 1000000) max_states_per_insn 0 \
                    total_states 2 peak_states 1 mark_read 0\n-- END PROG LOAD LOG --\nprocessed 9 insns\nlibbpf: prog 'a': -- BEGIN \
                    PROG LOAD LOG --\nprocessed 3 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0\n";
        let found = parse(said);
        let figures = |one: &Verified| (one.program.clone(), one.instructions, one.states, one.peak_states);
        assert_eq!(
            found.iter().map(figures).collect::<Vec<_>>(),
            [("a".into(), 3, 0, 0), ("b".into(), 7, 2, 1)]
        );
    }
}
