//! The terminal, taken over and given back whatever happens.

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours at the moment.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal while it is ours. It is given back when this is dropped, and before a panic says what happened.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// # Errors
    /// When the terminal refuses.
    pub(super) fn take() -> io::Result<Self> {
        HOOK.call_once(|| {
            let tell = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // First, so that the message is not on a screen that goes away.
                give_back();
                tell(panic);
            }));
        });
        enter()?;
        match Terminal::new(CrosstermBackend::new(io::stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Gives the terminal back, stops this process until the shell continues it, and takes the terminal again.
    pub(super) fn stop_and_go_on(&mut self) -> io::Result<()> {
        give_back();
        signal_hook::low_level::raise(signal_hook::consts::SIGTSTP)?;
        enter()?;
        execute!(io::stdout(), Clear(ClearType::All))?;
        // A new one knows nothing of what was there, and draws all of it.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let entered = execute!(io::stdout(), EnterAlternateScreen, Hide);
    if entered.is_err() {
        give_back();
    }
    entered
}

/// Once, however many ask. A terminal that is gone needs nothing any more, so errors do not matter.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
#[path = "terminal.rs"]
mod terminal;

#[cfg(test)]
mod tests {
    use super::terminal::{Terminal as Window, described, ended};
    use super::*;
    use std::process::Command;

    const PANICS: &str = "SWTCH_TEST_PANICS";

    /// Not a test: a process of its own, which panics while the terminal is taken.
    #[test]
    fn helper() {
        if std::env::var_os(PANICS).is_some() {
            let _screen = Screen::take().unwrap();
            panic!("as was to be");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_speaks() {
        let window = Window::new(80, 24);
        let modes = described(&window.modes());
        let mut child = window.run(
            Command::new(std::env::current_exe().unwrap())
                .args(["commands::top::screen::tests::helper", "--exact", "--nocapture"])
                .env(PANICS, "1"),
        );
        let status = ended(&mut child, &window);
        let written = window.written();
        assert_eq!(status.code(), Some(101), "{written}");
        assert_eq!(described(&window.modes()), modes);
        let at = |words: &str| written.find(words).unwrap_or_else(|| panic!("no {words:?} in {written:?}"));
        assert!(
            at("\x1b[?1049h") < at("\x1b[?1049l") && at("\x1b[?1049l") < at("as was to be"),
            "{written:?}"
        );
        assert!(at("\x1b[?25h") < at("as was to be"), "the cursor is hidden");
        assert_eq!(written.matches("\x1b[?1049l").count(), 1, "given back twice");
    }
}
