//! How large a Trace is and how quickly it is written and read.

use std::fs;
use std::time::Instant;
use swtch_topology::Host;
use swtch_trace::model::{Ended, Header, Provenance, Scope};
use swtch_trace::tables::{PrevState, SwitchRow};
use swtch_trace::{Trace, Writer};

/// Numbers without order, the same every time (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Mostly about `middle`, sometimes a hundred times as long.
    fn time_ns(&mut self, middle: u64) -> u64 {
        let spread = middle / 2 + self.below(middle);
        if self.below(50) == 0 { spread * (1 + self.below(100)) } else { spread }
    }
}

/// A busy server: eight CPUs, 300 threads, a switch every four microseconds.
fn busy_server(count: usize) -> Vec<SwitchRow> {
    let mut random = Random(88_172_645_463_325_252);
    let mut running = [0; 8];
    let mut at_ns = 0;
    let row = |_| {
        at_ns += random.time_ns(4_000);
        let cpu = random.below(8) as u32;
        let next_tid = if random.below(3) == 0 { 0 } else { 40_000 + random.below(300) as u32 };
        let woken = next_tid != 0 && random.below(4) != 0;
        SwitchRow {
            at_ns,
            cpu,
            prev_tid: std::mem::replace(&mut running[cpu as usize], next_tid),
            next_tid,
            prev_state: if random.below(5) == 0 { PrevState::Runnable } else { PrevState::Sleeping },
            ran_ns: Some(random.time_ns(30_000)),
            waited_ns: (next_tid != 0).then(|| random.time_ns(6_000)),
            cost_ns: Some(random.time_ns(900) as u32),
            waker_tid: woken.then(|| 40_000 + random.below(300) as u32),
            throttled: Some(false),
        }
    };
    (0..count).map(row).collect()
}

#[test]
fn a_switch_takes_few_bytes_and_little_time() {
    let rows = busy_server(1_000_000);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
    let mut writer = Writer::create(&folder, &header).unwrap();
    let begun = Instant::now();
    for rows in rows.chunks(4096) {
        writer.append_switches(rows).unwrap();
    }
    writer.flush().unwrap();
    let write_ns = begun.elapsed().as_nanos() as f64 / rows.len() as f64;
    header.provenance.ended = Ended::Complete;
    writer.finish(&header).unwrap();

    let bytes: u64 =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    let bytes = bytes as f64 / rows.len() as f64;
    let begun = Instant::now();
    let trace = Trace::open(&folder).unwrap();
    assert!(trace.switches().map(Result::unwrap).eq(rows.iter().cloned()));
    let read_ns = begun.elapsed().as_nanos() as f64 / rows.len() as f64;
    let begun = Instant::now();
    let texts: usize = rows.iter().map(|row| serde_json::to_string(row).unwrap().len()).sum();
    let text_ns = begun.elapsed().as_nanos() as f64 / rows.len() as f64;
    println!(
        "{bytes:.2} bytes a switch; {write_ns:.0} ns to write one, {read_ns:.0} ns to read one, {text_ns:.0} ns as text"
    );
    assert!(bytes < 20.0 && bytes < texts as f64 / rows.len() as f64 / 5.0, "{bytes} bytes a switch");
}
