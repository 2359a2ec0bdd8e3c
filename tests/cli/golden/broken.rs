//! Files that cannot be read, or whose figures cannot be true.

use crate::common::fixture;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Writes them all into a directory.
pub(super) fn write(place: &Path) {
    let file = |name: &str, contents: &[u8]| {
        let path = place.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    };
    let whole = fs::read(fixture("profiles/vm.json")).unwrap();
    file("cut.json", &whole[..whole.len() / 2]);
    file("foreign.json", br#"{"schema": "other/1"}"#);
    file("binary.json", &[0, 159, 146, 150]);
    file("empty.json", b"");

    file("newer.json", br#"{"schema":"swtch/faas/9"}"#);
    file("response.json", b"{\"schema\":\"swtch/faas/1\",\n\"created_at\":");
    file("failed.json", br#"{"schema":"swtch/faas-error/1","error":"unknown name 'spin'"}"#);
    file("begun/journal.jsonl", b"");
    file("tiers/tiers.json", br#"{"schema":"swtch/faas-tiers/2"}"#);
    file("study/study.json", br#"{"schema":"swtch/study/1"}"#);
    fs::create_dir(place.join("empty")).unwrap();

    file("damaged.swtch/header.json", b"{");
    for table in fs::read_dir(fixture("traces/machine.swtch")).unwrap() {
        let table = table.unwrap();
        let name = format!("impossible.swtch/{}", table.file_name().into_string().unwrap());
        file(&name, &fs::read(table.path()).unwrap());
    }
    // A count that went backwards, as one of 32 bits.
    let too_many: Value = ((1_u64 << 32) + 475).into();
    let changed = |source: &str, name: &str, pointer: &str, value: &Value| {
        let mut document: Value = serde_json::from_slice(&fs::read(fixture(source)).unwrap()).unwrap();
        *document.pointer_mut(pointer).unwrap() = value.clone();
        file(name, document.to_string().as_bytes());
    };
    let header = "impossible.swtch/header.json";
    changed("traces/machine.swtch/header.json", header, "/totals/context_switches/voluntary", &too_many);
    // An interval that does not hold its median.
    changed("profiles/server.json", "impossible.json", "/direct/0/switch_cost_ns/ci_low", &6_840.0.into());
    // More switches than those of the inferences.
    changed("studies/edge/study.json", "impossible/study.json", "/runs/0/switches/voluntary", &too_many);

    file("perf.data", b"PERFILE2\x68\0\0\0\0\0\0\0and so on");
    file("none.txt", b"nothing\nat all\n");
    let line = "  make-12  [001] d..2.  7.000001: sched_switch: prev_comm=make prev_pid=12 prev_prio=120 prev_state=R \
                ==> next_comm=make next_pid=12 next_prio=120\n";
    file("contradiction.txt", line.repeat(3_000).as_bytes());
    for (name, types) in [
        ("kinds-cut.json", "{"),
        ("kinds-short.json", r#"{"types": [{"name": "a", "cores": 1}], "speeds": [[1, 2]]}"#),
        ("kinds-no-core.json", r#"{"types": [{"name": "a", "cores": 0}], "speeds": [[1]]}"#),
        ("kinds-more.json", r#"{"types": [], "speeds": [], "more": 1}"#),
    ] {
        file(name, types.as_bytes());
    }
}
