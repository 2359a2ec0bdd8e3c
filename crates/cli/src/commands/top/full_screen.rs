//! The loop of the full screen: keys, windows, drawing.

use super::looking::Looking;
use super::screen::Screen;
use super::signals::Signals;
use super::{End, host_name, time_of_day};
use anyhow::Context;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use swtch_report::terminal::top::{Action, Key, Look, State, draw};

/// The first interval is shorter, so that the screen is not empty for long.
const FIRST: Duration = Duration::from_millis(500);
/// A signal interrupts only the waiting thread, so no wait is longer than this.
const PATIENCE: Duration = Duration::from_millis(200);

pub(super) fn run(
    looking: &mut Looking,
    state: &mut State,
    windows: Option<u64>,
    signals: &Signals,
) -> anyhow::Result<End> {
    let mut shown = ScreenOptions {
        host: host_name(),
        colour: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
    };
    let mut screen = Screen::take().context("cannot use the terminal")?;
    signals.guard();
    let mut left = windows;
    let mut due = Instant::now() + FIRST.min(state.interval());
    shown.draw(&mut screen, state)?;
    loop {
        if let Some(signal) = signals.came() {
            return Ok(End::Signal(signal));
        }
        let now = Instant::now();
        if now >= due || looking.is_gone() {
            state.take(looking.window());
            due = now + state.interval();
            shown.draw(&mut screen, state)?;
            left = left.map(|left| left - 1);
            if left == Some(0) {
                return Ok(End::Done);
            }
            if looking.is_gone() {
                return Ok(End::Gone);
            }
        }
        let next = due.min(looking.next_look(state.interval()));
        let pause = next.saturating_duration_since(Instant::now()).min(PATIENCE);
        if event::poll(pause).context("cannot read the keyboard")? {
            match keys(state)? {
                Action::Quit => return Ok(End::Done),
                Action::Suspend => {
                    screen.stop_and_go_on().context("cannot use the terminal")?;
                    // The events until here do not make an interval of the length that is shown.
                    looking.window();
                    due = Instant::now() + FIRST.min(state.interval());
                }
                Action::Draw => due = due.min(Instant::now() + state.interval()),
            }
            shown.draw(&mut screen, state)?;
        }
        looking.look_if_due(state.interval());
    }
}

struct ScreenOptions {
    host: String,
    colour: bool,
}

impl ScreenOptions {
    fn draw(&mut self, screen: &mut Screen, state: &mut State) -> anyhow::Result<()> {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock = time_of_day::clock(unix.as_nanos() as u64);
        let look = Look { colour: self.colour, host: &self.host, clock: &clock };
        screen.terminal.draw(|frame| draw(frame, state, &look)).context("cannot draw on the terminal")?;
        Ok(())
    }
}

/// Takes all keys that are there: a held key is not to be ahead of what is shown.
fn keys(state: &mut State) -> anyhow::Result<Action> {
    loop {
        if let Event::Key(key) = event::read().context("cannot read the keyboard")?
            && let Some(key) = translated(key)
        {
            let action = state.press(key);
            if action != Action::Draw {
                return Ok(action);
            }
        }
        if !event::poll(Duration::ZERO).context("cannot read the keyboard")? {
            return Ok(Action::Draw);
        }
    }
}

fn translated(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::F(1) => Key::Char('?'),
        KeyCode::F(10) => Key::Char('q'),
        _ => return None,
    })
}
