//! A terminal to run programs in: a pseudo-terminal, and what is on its screen.
#![allow(dead_code, unreachable_pub, reason = "unit tests of the command use a part of it")]

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Patience with a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Terminal {
    keyboard: File,
    /// Held, so that the terminal stays when the program ends.
    slave: File,
    seen: Arc<Mutex<Vec<u8>>>,
    columns: usize,
    lines: usize,
}

impl Terminal {
    pub fn new(columns: u16, lines: u16) -> Self {
        let (keyboard, slave) = pair(columns, lines);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, sink) = (keyboard.try_clone().unwrap(), Arc::clone(&seen));
        // Ends with the terminal.
        std::thread::spawn(move || {
            let mut some = vec![0; 65_536];
            while let Ok(length @ 1..) = screen.read(&mut some) {
                sink.lock().unwrap().extend_from_slice(&some[..length]);
            }
        });
        Self { keyboard, slave, seen, columns: columns.into(), lines: lines.into() }
    }

    /// Starts a program with this as its terminal.
    pub fn run(&self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.slave.try_clone().unwrap());
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, columns: u16, lines: u16) {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.slave, size).unwrap();
        (self.columns, self.lines) = (columns.into(), lines.into());
    }

    /// The terminal's modes.
    pub fn modes(&self) -> Termios {
        tcgetattr(&self.slave).unwrap()
    }

    /// Everything that was written to it.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// What is on the screen.
    pub fn screen(&self) -> Vec<String> {
        screen(&self.written(), self.columns, self.lines)
    }

    /// Waits until the screen is as it should be.
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "no {what} on the screen:\n{}", screen.join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A terminal that can go away under a program.
pub struct Connection {
    master: File,
    slave: Mutex<Option<File>>,
}

impl Connection {
    pub fn new() -> Self {
        let (master, slave) = pair(80, 24);
        Self { master, slave: Mutex::new(Some(slave)) }
    }

    /// Starts a program with this as its terminal; it alone has it then.
    pub fn run(&self, command: &mut Command) -> Child {
        let slave = self.slave.lock().unwrap().take().unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        command.spawn().unwrap()
    }

    pub fn wait_for(&self, words: &str) {
        let (mut some, mut seen) = (vec![0; 4096], String::new());
        while !seen.contains(words) {
            let length = (&self.master).read(&mut some).unwrap();
            seen.push_str(&String::from_utf8_lossy(&some[..length]));
        }
    }
}

/// Both ends of a terminal of this size.
fn pair(columns: u16, lines: u16) -> (File, File) {
    // Not for the programs that are started: the terminal is to end with this.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master: OwnedFd = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size).unwrap();
    (File::from(master), slave)
}

/// How a program ends that is to end.
pub fn ended(child: &mut Child, terminal: &Terminal) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            // What it wrote last is still on its way.
            std::thread::sleep(Duration::from_millis(100));
            return status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it did not end; on the screen:\n{}", terminal.screen().join("\n"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The modes as text: they have no comparison.
pub fn described(modes: &Termios) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        modes.input_modes, modes.output_modes, modes.control_modes, modes.local_modes
    )
}

/// The little of a terminal's language that a full screen uses.
fn screen(written: &str, columns: usize, lines: usize) -> Vec<String> {
    let mut cells = vec![vec![' '; columns]; lines];
    let (mut x, mut y) = (0, 0);
    let mut rest = written.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' if rest.peek() == Some(&'[') => {
                rest.next();
                let mut numbers = String::new();
                let order = loop {
                    match rest.next() {
                        Some(c) if c.is_ascii_alphabetic() => break c,
                        Some(c) => numbers.push(c),
                        None => return Vec::new(),
                    }
                };
                let number =
                    |place: usize| numbers.split(';').nth(place).and_then(|text| text.parse::<usize>().ok());
                match order {
                    'H' => (y, x) = (number(0).unwrap_or(1) - 1, number(1).unwrap_or(1) - 1),
                    'J' => cells = vec![vec![' '; columns]; lines],
                    'K' => cells[y][x..].fill(' '),
                    _ => {}
                }
            }
            '\r' => x = 0,
            '\n' => y = (y + 1).min(lines - 1),
            c if !c.is_control() => {
                if let Some(cell) = cells.get_mut(y).and_then(|line| line.get_mut(x)) {
                    *cell = c;
                }
                x += 1;
            }
            _ => {}
        }
    }
    cells.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}
