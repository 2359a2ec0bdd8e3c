//! `swtch top`.

mod full_screen;
mod looking;
mod screen;
mod signals;
mod time_of_day;

use crate::args::top::TopArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use looking::{Looking, Waited};
use signals::Signals;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use swtch_record::Target;
use swtch_record::watch::Watch;
use swtch_report::terminal::top::{Settings, State, json, text};

/// Looking oftener would be what is seen.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(3600);

/// Why it came to an end.
pub(crate) enum End {
    /// By a key, or after as many windows as were asked for.
    Done,
    /// The watched processes have exited, or the watched cgroup was removed.
    Gone,
    /// By a signal.
    Signal(i32),
}

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<ExitCode> {
    if args.interval < SHORTEST || args.interval > LONGEST {
        return Err(
            WrongUsage("the interval is not between 50ms and 1h; write 500ms, 1s or 1m".to_owned()).into()
        );
    }
    let model = output::prices(args.profile.as_deref())?;
    let target = args.target();
    let signals = Signals::listen().context("cannot listen for signals")?;
    let mut watch = Watch::begin(target.clone(), args.source, Some(args.mode()), args.sample)?;
    watch.drop_capabilities();
    let mut looking = Looking::begin(watch, model);
    let mut state =
        State::new(Settings { interval: args.interval, sort: args.sort, filter: args.filter.clone() });
    let on_screen = !args.json && !args.once && io::stdout().is_terminal();
    let end = if on_screen {
        full_screen::run(&mut looking, &mut state, args.windows(), &signals)?
    } else {
        print(&mut looking, &mut state, args, &signals)?
    };
    // First the programs in the kernel are detached, which can take a while.
    drop(looking);
    Ok(match end {
        End::Done => ExitCode::SUCCESS,
        End::Gone => {
            output::complain_text(&format!("swtch: {}", gone(&target)));
            ExitCode::SUCCESS
        }
        End::Signal(signal) => signals::status(signal),
    })
}

fn gone(target: &Target) -> String {
    match target {
        Target::Processes(pids) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            format!("all watched processes have exited: {}", pids.join(", "))
        }
        Target::Cgroup(path) => format!("the watched cgroup was removed: {path}"),
        Target::Machine | Target::Command(_) => "the recording has ended".to_owned(),
    }
}

/// Window after window, as text or as lines of JSON.
fn print(looking: &mut Looking, state: &mut State, args: &TopArgs, signals: &Signals) -> anyhow::Result<End> {
    let host = host_name();
    let mut left = args.windows();
    while left != Some(0) {
        let waited = looking.wait(args.interval, signals);
        if let Waited::Signal(signal) = waited {
            return Ok(End::Signal(signal));
        }
        let window = looking.window();
        let printed = if args.json {
            format!("{}\n", json(&window))
        } else {
            let clock = time_of_day::clock(window.unix_ns);
            state.take(window);
            let more = if left == Some(1) { "" } else { "\n" };
            format!("{}{more}", text(state, &host, &clock))
        };
        let mut out = io::stdout().lock();
        match out.write_all(printed.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            // The reader has closed the pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(End::Done),
            Err(error) => return Err(error).context("cannot write the figures"),
        }
        if matches!(waited, Waited::Gone) {
            return Ok(End::Gone);
        }
        left = left.map(|left| left - 1);
    }
    Ok(End::Done)
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
