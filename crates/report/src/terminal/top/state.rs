//! What the user of `swtch top` has chosen.

use super::columns::{TableLine, TopColumn};
use super::groups::Grouping;
use super::keys::{Action, Key};
use super::rates::{RowKey, TopRow};
use super::window::{CostSource, Window};
use std::collections::VecDeque;
use std::time::Duration;

/// Figures of the past that are kept, one a window.
const HISTORY: usize = 600;
/// Steps between two looks.
const INTERVALS_MS: [u64; 9] = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/// How to begin.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Time between two looks.
    pub interval: Duration,
    /// What to sort by; by cost where that is known when absent.
    pub sort: Option<TopColumn>,
    /// Shows only what has this in its name, its number or its cgroup.
    pub filter: String,
}

/// What is in front of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Front {
    Table,
    Help,
    /// Of this line, as it was when it was last there.
    Details(Box<TopRow>),
}

/// What the user has chosen, and the history of the machine's switch rate.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) grouping: Grouping,
    /// Of tasks and what is made of them, and of CPUs.
    sorts: [Option<TopColumn>; 2],
    pub(super) reverse: bool,
    pub(super) filter: String,
    pub(super) editing: bool,
    pub(super) kernel_threads: bool,
    pub(super) paused: bool,
    pub(super) front: Front,
    pub(super) selected: Option<RowKey>,
    /// Place of the selected line, for when it goes away.
    place: usize,
    pub(super) first_shown: usize,
    page: usize,
    interval: Duration,
    pub(super) history: VecDeque<f64>,
    pub(super) window: Option<Window>,
}

impl State {
    /// The state before the first key.
    pub fn new(settings: Settings) -> Self {
        let of_cpus = settings.sort.is_some_and(|sort| !TopColumn::all(Grouping::Tasks).contains(&sort));
        let of_processes =
            settings.sort.is_some_and(|sort| TopColumn::all(Grouping::Processes).contains(&sort));
        Self {
            grouping: match (of_cpus, of_processes) {
                (true, true) => Grouping::Processes,
                (true, false) => Grouping::Cpus,
                _ => Grouping::Tasks,
            },
            sorts: [settings.sort; 2],
            reverse: false,
            filter: settings.filter,
            editing: false,
            kernel_threads: true,
            paused: false,
            front: Front::Table,
            selected: None,
            place: 0,
            first_shown: 0,
            page: 1,
            interval: settings.interval,
            history: VecDeque::new(),
            window: None,
        }
    }

    /// Time between two looks.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether what is shown stays as it is.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Takes a window that is over. The screen shows it unless it is paused, and the history grows either way.
    pub fn take(&mut self, window: Window) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(window.switches_per_s().unwrap_or(0.0));
        if !self.paused || self.window.is_none() {
            self.window = Some(window);
            self.look_up_details();
        }
    }

    /// The column that is sorted by.
    pub(super) fn sorted(&self) -> TopColumn {
        let known = self.window.as_ref().is_none_or(|window| window.cost_source != CostSource::Unknown);
        let here = |column: &TopColumn| TopColumn::all(self.grouping).contains(column);
        self.sorts[usize::from(self.grouping == Grouping::Cpus)]
            .filter(here)
            .unwrap_or_else(|| TopColumn::default_of(self.grouping, known))
    }

    /// The lines that are shown, in order.
    pub(super) fn lines(&self) -> Vec<TableLine> {
        let Some(window) = &self.window else { return Vec::new() };
        let rows = match self.grouping {
            Grouping::Tasks => window.tasks.clone(),
            Grouping::Processes => window.processes(),
            Grouping::Cgroups => window.cgroups(),
            Grouping::Cpus => {
                let mut lines: Vec<TableLine> = window.cpus.iter().copied().map(TableLine::Cpu).collect();
                lines.sort_by(|a, b| self.sorted().order(a, b, self.reverse));
                return lines;
            }
        };
        let wish = self.filter.to_lowercase();
        let shown = |row: &TopRow| (self.kernel_threads || !row.kernel_thread) && matches(row, &wish);
        let mut lines: Vec<TableLine> = rows.into_iter().filter(shown).map(TableLine::Row).collect();
        let sorted = self.sorted();
        lines.sort_by(|a, b| sorted.order(a, b, self.reverse));
        lines
    }

    /// Where the selected line is among `lines`, with the first one to show when `page` fit. A line that is gone leaves its place to the one that
    /// came there.
    pub(super) fn scroll(&mut self, lines: &[TableLine], page: usize) -> Option<usize> {
        self.page = page.max(1);
        let last = lines.len().checked_sub(1)?;
        let place = match &self.selected {
            // The first line is selected until the user moves the selection, whichever task it shows.
            None => 0,
            Some(key) => lines.iter().position(|line| line.key() == *key).unwrap_or(self.place).min(last),
        };
        self.place = place;
        let first_of_last_page = lines.len().saturating_sub(self.page);
        self.first_shown =
            self.first_shown.min(place).max((place + 1).saturating_sub(self.page)).min(first_of_last_page);
        Some(place)
    }

    /// The line that is selected.
    pub(super) fn selected_line(&mut self) -> Option<TableLine> {
        let mut lines = self.lines();
        let place = self.scroll(&lines, self.page)?;
        Some(lines.swap_remove(place))
    }

    fn look_up_details(&mut self) {
        let (Front::Details(row), Some(window)) = (&self.front, &self.window) else { return };
        let rows = match row.key() {
            RowKey::Task(_) => window.tasks.clone(),
            RowKey::Process(_) => window.processes(),
            RowKey::Cgroup(_) => window.cgroups(),
            RowKey::Cpu(_) => Vec::new(),
        };
        let now = rows.into_iter().rev().find(|found| found.key() == row.key());
        // It stays as it was last seen.
        let last = now.unwrap_or_else(|| TopRow { ended: true, ..(**row).clone() });
        self.front = Front::Details(Box::new(last));
    }

    /// Acts on a pressed key.
    pub fn press(&mut self, key: Key) -> Action {
        match key {
            Key::Ctrl('c') => return Action::Quit,
            Key::Ctrl('z') => return Action::Suspend,
            _ if self.editing => self.edit(key),
            Key::Char('q') | Key::Esc if self.front != Front::Table => self.front = Front::Table,
            Key::Esc if !self.filter.is_empty() => self.filter.clear(),
            Key::Char('q') | Key::Esc => return Action::Quit,
            Key::Char('?' | 'h') => {
                self.front = if self.front == Front::Help { Front::Table } else { Front::Help };
            }
            Key::Enter if self.front == Front::Table => self.show_details(),
            Key::Enter => self.front = Front::Table,
            _ => self.choose(key),
        }
        Action::Draw
    }

    fn edit(&mut self, key: Key) {
        match key {
            Key::Enter => self.editing = false,
            Key::Esc => {
                self.filter.clear();
                self.editing = false;
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Ctrl('u') => self.filter.clear(),
            Key::Char(c) => self.filter.push(c),
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => self.choose(key),
            _ => {}
        }
    }

    fn choose(&mut self, key: Key) {
        match key {
            Key::Up => self.go(|place, _| place.saturating_sub(1)),
            Key::Down => self.go(|place, _| place + 1),
            Key::PageUp => self.go(usize::saturating_sub),
            Key::PageDown => self.go(|place, page| place + page),
            Key::Home => self.go(|_, _| 0),
            Key::End => self.go(|_, _| usize::MAX),
            Key::Char('<') | Key::Left => self.sort_beside(false),
            Key::Char('>' | 's') | Key::Right => self.sort_beside(true),
            Key::Char('r') => self.reverse = !self.reverse,
            Key::Char('/') => (self.editing, self.front) = (true, Front::Table),
            Key::Char('t') => self.group(Grouping::Tasks),
            Key::Char('p') => self.group(Grouping::Processes),
            Key::Char('c') => self.group(Grouping::Cpus),
            Key::Char('g') => self.group(Grouping::Cgroups),
            Key::Char('k') => self.kernel_threads = !self.kernel_threads,
            Key::Char(' ') => self.paused = !self.paused,
            Key::Char('+' | '=') => self.interval = beside(self.interval, true),
            Key::Char('-') => self.interval = beside(self.interval, false),
            _ => {}
        }
    }

    fn go(&mut self, to: impl Fn(usize, usize) -> usize) {
        if self.front != Front::Table {
            return;
        }
        let lines = self.lines();
        let Some(place) = self.scroll(&lines, self.page) else { return };
        let place = to(place, self.page).min(lines.len() - 1);
        // Back at the top the selection follows no task any more: it stays on the first line, which is the worst.
        self.selected = (place > 0).then(|| lines[place].key());
        self.place = place;
    }

    fn sort_beside(&mut self, right: bool) {
        let all = TopColumn::all(self.grouping);
        let at = all.iter().position(|column| *column == self.sorted()).unwrap_or(0);
        let beside = if right { at + 1 } else { at + all.len() - 1 };
        self.sorts[usize::from(self.grouping == Grouping::Cpus)] = Some(all[beside % all.len()]);
        self.reverse = false;
        self.first_shown = 0;
    }

    fn group(&mut self, grouping: Grouping) {
        self.front = Front::Table;
        if self.grouping != grouping {
            self.grouping = grouping;
            (self.selected, self.place, self.first_shown) = (None, 0, 0);
        }
    }

    fn show_details(&mut self) {
        if let Some(TableLine::Row(row)) = self.selected_line() {
            self.front = Front::Details(Box::new(row));
        }
    }
}

/// Whether a row has the text, in small letters, in its name, its cgroup, or at the beginning of its number.
fn matches(row: &TopRow, wish: &str) -> bool {
    let begins = |number: Option<u32>| number.is_some_and(|number| number.to_string().starts_with(wish));
    wish.is_empty()
        || row.name.to_lowercase().contains(wish)
        || [&row.cgroup, &row.cgroup_name]
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(wish))
        || begins(row.tid)
        || begins(row.pid)
}

/// The next longer or shorter time.
fn beside(interval: Duration, longer: bool) -> Duration {
    let steps = || INTERVALS_MS.into_iter().map(Duration::from_millis);
    let found = if longer {
        steps().find(|step| *step > interval)
    } else {
        steps().rev().find(|step| *step < interval)
    };
    found.unwrap_or(interval)
}
