//! Reads the kernel's account of an end from the scheduler's memory.

use crate::layout::Fields;
use std::collections::BTreeMap;
use swtch_sched_ext::ExitInfo;

/// The account; `None` while the scheduler runs.
pub(crate) fn parse(
    fields: &Fields,
    record: &[u8],
    dump: &[u8],
    names: &BTreeMap<i32, String>,
) -> Option<ExitInfo> {
    let bytes = |name: &str| {
        let place = fields.get(name)?;
        record.get(place.offset..place.offset + place.bytes)
    };
    let int = |name: &str| Some(i32::from_ne_bytes(bytes(name)?.try_into().ok()?));
    let long = |name: &str| Some(i64::from_ne_bytes(bytes(name)?.try_into().ok()?));
    let kind_number = int("kind").filter(|kind| *kind != 0)?;
    Some(ExitInfo {
        kind: names.get(&kind_number).cloned().unwrap_or_else(|| format!("kind {kind_number}")),
        kind_number,
        reason: text(bytes("reason").unwrap_or_default()),
        message: text(bytes("msg").unwrap_or_default()),
        exit_code: long("exit_code").unwrap_or(0),
        exit_cpu: int("exit_cpu").filter(|cpu| *cpu >= 0),
        dump: Some(text(dump)).filter(|dump| !dump.is_empty()),
    })
}

/// The text before the first 0.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Place;

    fn fields() -> Fields {
        let place = |offset, bytes| Place { offset, bytes };
        let fields = [
            ("kind", place(0, 4)),
            ("exit_cpu", place(4, 4)),
            ("exit_code", place(8, 8)),
            ("reason", place(16, 8)),
            ("msg", place(24, 8)),
        ];
        fields.map(|(name, place)| (name.to_owned(), place)).into()
    }

    fn record(kind: i32) -> Vec<u8> {
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend((-1_i32).to_ne_bytes());
        record.extend(7_i64.to_ne_bytes());
        record.extend(b"stall\0xxno end..");
        record
    }

    #[test]
    fn a_scheduler_that_runs_has_not_ended() {
        assert_eq!(parse(&fields(), &record(0), &[], &BTreeMap::new()), None);
    }

    #[test]
    fn an_end_has_a_name_a_reason_and_a_message() {
        let names = BTreeMap::from([(1026, "error_stall".to_owned())]);
        let exit = parse(&fields(), &record(1026), b"CPU 0\n\0rest", &names).unwrap();
        assert_eq!(
            (exit.kind.as_str(), exit.reason.as_str(), exit.message.as_str()),
            ("error_stall", "stall", "no end..")
        );
        assert_eq!((exit.exit_code, exit.exit_cpu, exit.dump.as_deref()), (7, None, Some("CPU 0")));
        assert!(exit.is_error());
    }

    #[test]
    fn a_kind_without_a_name_keeps_its_number() {
        let exit = parse(&fields(), &record(64), &[], &BTreeMap::new()).unwrap();
        assert_eq!((exit.kind.as_str(), exit.is_error()), ("kind 64", false));
    }
}
