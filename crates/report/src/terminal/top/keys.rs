//! What is typed, and what it asks for.

/// A key, whatever the terminal's library calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Erases the character before.
    Backspace,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// The column to the left.
    Left,
    /// The column to the right.
    Right,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// The first line.
    Home,
    /// The last line.
    End,
}

/// The action outside of the screen's content that a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing; what is shown may have changed.
    Draw,
    /// End.
    Quit,
    /// Stop until the shell continues it (Ctrl-Z).
    Suspend,
}
