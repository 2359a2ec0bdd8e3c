use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

#[inline(never)]
fn culprit() {
    sleep(Duration::from_micros(200));
    black_box(());
}

#[inline(never)]
fn minor() {
    // Another time: functions that do the same are made one.
    sleep(Duration::from_micros(300));
    black_box(());
}

fn main() {
    for number in 0..300 {
        culprit();
        if number % 10 == 0 {
            minor();
        }
    }
}
