//! A window on a screen.

use super::columns::{TableLine, TopColumn, fitting};
use super::details::details;
use super::groups::Grouping;
use super::header::{self, Pieces, Tone};
use super::spinning_lines;
use super::state::{Front, State};
use super::window::Window;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// The least that a table can be shown in.
const LEAST: (u16, u16) = (40, 8);

/// What is around the figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look<'a> {
    /// Whether to use colours. No fact is shown by colour alone.
    pub colour: bool,
    /// The machine's name.
    pub host: &'a str,
    /// The time of day.
    pub clock: &'a str,
}

/// Puts what is to be seen on a screen of any size.
pub fn draw(frame: &mut Frame<'_>, state: &mut State, look: &Look<'_>) {
    let area = frame.area();
    let mut screen = Screen { buffer: frame.buffer_mut(), area, y: area.y, colour: look.colour };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("{}x{} is too small; {}x{} is needed", area.width, area.height, LEAST.0, LEAST.1);
        screen.line(&vec![(text, Tone::Warning)]);
        return;
    }
    let Some(window) = state.window.clone() else {
        screen.line(&vec![("swtch top".to_owned(), Tone::Strong), ("looking ...".to_owned(), Tone::Plain)]);
        return;
    };
    screen.heading(&window, state, look);
    let bottom = area.bottom() - 1;
    match &state.front {
        Front::Help => screen.lines(&help(state.grouping), bottom),
        Front::Details(row) => screen.lines(&details(row, &window), bottom),
        Front::Table => screen.table(state, bottom),
    }
    screen.y = bottom;
    screen.line(&footer(state));
}

/// A screen that is written from top to bottom.
struct Screen<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    y: u16,
    colour: bool,
}

impl Screen<'_> {
    fn style(&self, tone: Tone) -> Style {
        let style = match tone {
            Tone::Strong | Tone::Warning => Style::new().add_modifier(Modifier::BOLD),
            Tone::Quiet => Style::new().add_modifier(Modifier::DIM),
            _ => Style::new(),
        };
        match tone {
            _ if !self.colour => style,
            Tone::Plain | Tone::Quiet => style,
            Tone::Strong => style.fg(Color::Cyan),
            Tone::Warning => style.fg(Color::Red),
            Tone::User => style.fg(Color::Green),
            Tone::System => style.fg(Color::Blue),
            Tone::Interrupt => style.fg(Color::Magenta),
            Tone::Steal => style.fg(Color::Yellow),
        }
    }

    /// Pieces one after the other, up to the edge. The next column.
    fn pieces(&mut self, pieces: &Pieces, x: u16) -> u16 {
        let mut x = x;
        for (text, tone) in pieces {
            let room = self.area.right().saturating_sub(x);
            let style = self.style(*tone);
            (x, _) = self.buffer.set_stringn(x, self.y, text, room.into(), style);
        }
        x
    }

    fn line(&mut self, pieces: &Pieces) {
        self.apart(pieces);
        self.y += 1;
    }

    /// Pieces with blanks between them; those that do not fit as a whole are left out. The next column.
    fn apart(&mut self, pieces: &Pieces) -> u16 {
        let mut x = self.area.x;
        for (place, piece) in pieces.iter().enumerate() {
            let gap = if place == 0 { 0 } else { 2 };
            let room = self.area.right().saturating_sub(x + gap);
            if place > 0 && piece.0.chars().count() > room.into() {
                continue;
            }
            x = self.pieces(&vec![piece.clone()], x + gap);
        }
        x
    }

    /// What the machine does. A small screen keeps its room for the table.
    fn heading(&mut self, window: &Window, state: &State, look: &Look<'_>) {
        self.line(&header::about(window, state, look.host, look.clock));
        let x = self.apart(&header::switches(window)) + 2;
        let room = self.area.right().saturating_sub(x).min(120);
        if room >= 8 {
            let past = header::sparkline(state.history.iter(), room.into());
            self.pieces(&vec![(past, Tone::User)], x);
        }
        self.y += 1;
        self.line(&header::cost(window));
        if self.area.height >= 10 {
            self.line(&header::tasks(window));
            for pieces in spinning_lines::lines(&window.spinning) {
                self.line(&pieces);
            }
        }
        // Eight bars in a small window, as many as a third of a large one.
        let lines = if self.area.height < 14 { 1 } else { (self.area.height / 4).clamp(2, 16) };
        for line in header::processors(&window.cpus, self.area.width.into(), lines.into()) {
            self.pieces(&line, self.area.x);
            self.y += 1;
        }
    }

    fn lines(&mut self, lines: &[Pieces], bottom: u16) {
        self.y += 1;
        for line in lines {
            if self.y >= bottom {
                return;
            }
            self.pieces(line, self.area.x);
            self.y += 1;
        }
    }

    fn table(&mut self, state: &mut State, bottom: u16) {
        let lines = state.lines();
        let page = bottom.saturating_sub(self.y + 1);
        let selected = state.scroll(&lines, page.into());
        // One blank at the left for the mark of the selected line.
        let columns = fitting(state.grouping, state.sorted(), self.area.width - 1);
        self.titles(&columns, state);
        let first = state.first_shown;
        for (place, line) in lines.iter().enumerate().skip(first).take(page.into()) {
            self.row(line, &columns, selected == Some(place), state.sorted());
        }
        if lines.is_empty() {
            let why = match (&*state.filter, state.grouping) {
                ("", _) => "nothing happened".to_owned(),
                (filter, _) => format!("nothing has '{filter}' in its name, number or cgroup"),
            };
            self.pieces(&vec![(why, Tone::Plain)], self.area.x + 1);
        }
    }

    fn titles(&mut self, columns: &[(TopColumn, u16)], state: &State) {
        let base = Style::new().add_modifier(Modifier::REVERSED);
        self.buffer.set_style(Rect { y: self.y, height: 1, ..self.area }, base);
        let mut x = self.area.x + 1;
        for (column, width) in columns {
            let shape = column.shape();
            let is_sorted = *column == state.sorted();
            let falls = column.ascends() == state.reverse;
            let mark = if !is_sorted {
                ""
            } else if falls {
                "v"
            } else {
                "^"
            };
            let title = format!("{}{mark}", shape.title);
            let style =
                if is_sorted { base.add_modifier(Modifier::BOLD | Modifier::UNDERLINED) } else { base };
            self.cell(&title, x, *width, shape.is_text, style);
            x += width + 1;
        }
        self.y += 1;
    }

    fn row(&mut self, line: &TableLine, columns: &[(TopColumn, u16)], selected: bool, sorted: TopColumn) {
        let base = if selected { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        if selected {
            self.buffer.set_string(self.area.x, self.y, ">", base);
        }
        let mut x = self.area.x + 1;
        for (column, width) in columns {
            let style = match (*column == sorted, self.colour) {
                (true, true) => base.fg(Color::Cyan),
                _ => base,
            };
            self.cell(&column.text(line), x, *width, column.shape().is_text, style);
            x += width + 1;
        }
        self.y += 1;
    }

    /// Writes text in its column: words flush left, figures flush right. A text that is too long is cut, and a mark shows the cut.
    fn cell(&mut self, text: &str, x: u16, width: u16, is_text: bool, style: Style) {
        let width = width.min(self.area.right().saturating_sub(x));
        let length = ratatui::text::Span::raw(text).width();
        let before = if is_text { 0 } else { width.saturating_sub(length as u16) };
        let (end, _) = self.buffer.set_stringn(x + before, self.y, text, (width - before).into(), style);
        if length > width.into() && width > 0 {
            // A character of two columns may have left the last one free.
            self.buffer.set_stringn(end.max(x + width) - 1, self.y, "+", 1, style);
        }
    }
}

fn footer(state: &State) -> Pieces {
    if state.editing {
        return vec![
            (format!("Filter: {}_", super::cells::printable(&state.filter)), Tone::Strong),
            ("Enter keeps, Esc clears".to_owned(), Tone::Quiet),
        ];
    }
    let mut pieces: Pieces = Vec::new();
    if !state.filter.is_empty() {
        pieces.push((format!("[{}] Esc clears", super::cells::printable(&state.filter)), Tone::Strong));
    }
    let view = match state.grouping {
        Grouping::Tasks => "tasks",
        Grouping::Processes => "processes",
        Grouping::Cpus => "CPUs",
        Grouping::Cgroups => "cgroups",
    };
    pieces.push((view.to_owned(), Tone::Strong));
    let hidden = if state.kernel_threads { "k hide kernel" } else { "k show kernel" };
    let keys = [
        "q quit",
        "? help",
        "</> sort",
        "r reverse",
        "/ filter",
        "t p c g view",
        "Enter details",
        hidden,
        "Space pause",
        "+/- time",
    ];
    pieces.extend(keys.iter().map(|key| ((*key).to_owned(), Tone::Quiet)));
    pieces
}

fn help(grouping: Grouping) -> Vec<Pieces> {
    const KEYS: [(&str, &str); 12] = [
        ("q Esc Ctrl-C", "quit (Esc first clears the filter)"),
        ("arrows PgUp PgDn Home End", "move"),
        ("< > s", "sort by the next column"),
        ("r", "reverse the order"),
        ("/", "filter by name, number or cgroup"),
        ("t p c g", "tasks, processes, CPUs, cgroups"),
        ("Enter", "details of the selected line"),
        ("k", "show or hide kernel threads"),
        ("Space", "pause"),
        ("+ -", "update less or more often"),
        ("Ctrl-Z", "stop, as a shell does"),
        ("?", "this"),
    ];
    let line =
        |name: &str, text: &str| vec![(format!("{name:<26}"), Tone::Strong), (text.to_owned(), Tone::Plain)];
    let mut lines: Vec<Pieces> = KEYS.iter().map(|(name, text)| line(name, text)).collect();
    lines.push(Vec::new());
    lines.extend(TopColumn::all(grouping).iter().map(|column| {
        let shape = column.shape();
        line(shape.title, shape.help)
    }));
    lines.push(line("Bars", "| programs  # kernel  ! interrupts  s given to others by the hypervisor"));
    lines
}
