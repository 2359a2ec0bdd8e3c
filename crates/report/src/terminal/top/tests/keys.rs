use super::super::columns::TableLine;
use super::super::state::Front;
use super::super::{Action, Grouping, Key, Settings, State, TopColumn};
use super::*;
use proptest::prelude::*;
use std::time::Duration;

pub(super) fn state() -> State {
    let mut state = State::new(Settings { interval: Duration::from_secs(1), ..Settings::default() });
    state.take(machine());
    state
}

fn names(state: &State) -> Vec<String> {
    let name = |line| match line {
        TableLine::Row(row) => row.name,
        TableLine::Cpu(cpu) => cpu.cpu.to_string(),
    };
    state.lines().into_iter().map(name).collect()
}

fn typed(state: &mut State, text: &str) {
    for c in text.chars() {
        assert_eq!(state.press(Key::Char(c)), Action::Draw);
    }
}

#[test]
fn the_dearest_comes_first_and_r_turns_it_round() {
    let mut state = state();
    assert_eq!(names(&state), ["web", "web-worker", "batch", "kworker/0:1", "short"]);
    typed(&mut state, "r");
    assert_eq!(names(&state), ["short", "kworker/0:1", "batch", "web-worker", "web"]);
    typed(&mut state, "r<");
    assert_eq!(state.sorted(), TopColumn::Name);
    assert_eq!(names(&state), ["batch", "kworker/0:1", "short", "web", "web-worker"]);
    typed(&mut state, "<");
    assert_eq!((state.sorted(), names(&state)[0].as_str()), (TopColumn::Pid, "kworker/0:1"));
    typed(&mut state, "<");
    assert_eq!(state.sorted(), TopColumn::Cgroup, "it goes round");
}

#[test]
fn what_is_not_known_comes_last_either_way() {
    let mut state = State::new(Settings { sort: Some(TopColumn::Voluntary), ..Settings::default() });
    let mut window = machine();
    window.tasks[0].rates.cost_share = None;
    state.take(window);
    assert_eq!(names(&state)[0], "web");
    state = State::new(Settings { sort: Some(TopColumn::Cost), ..Settings::default() });
    let mut window = machine();
    window.tasks[1].rates.cost_share = None;
    state.take(window);
    assert_eq!(names(&state).last().unwrap(), "web");
    state.press(Key::Char('r'));
    assert_eq!(names(&state).last().unwrap(), "web");
}

#[test]
fn without_costs_the_switches_decide() {
    let mut state = State::new(Settings::default());
    state.take(sampled());
    assert_eq!(state.sorted(), TopColumn::Switches);
}

#[test]
fn the_filter_is_live_and_escape_clears_it() {
    let mut state = state();
    typed(&mut state, "/WEB");
    assert_eq!(names(&state), ["web", "web-worker"]);
    typed(&mut state, "-w");
    assert_eq!(names(&state), ["web-worker"]);
    state.press(Key::Backspace);
    state.press(Key::Enter);
    assert!(!state.editing && state.filter == "WEB-");
    assert_eq!(state.press(Key::Esc), Action::Draw);
    assert_eq!(names(&state).len(), 5);
    typed(&mut state, "/300");
    assert_eq!(names(&state), ["batch"], "by number");
    state.press(Key::Esc);
    assert!(!state.editing && state.filter.is_empty());
    typed(&mut state, "/200.service");
    assert_eq!(names(&state), ["web", "web-worker"], "by cgroup");
    assert_eq!(state.press(Key::Char('q')), Action::Draw, "a letter of the text");
    assert_eq!(state.press(Key::Ctrl('c')), Action::Quit);
    state.press(Key::Esc);
    assert_eq!(state.press(Key::Esc), Action::Quit);
}

#[test]
fn views_and_kernel_threads() {
    let mut state = state();
    typed(&mut state, "k");
    assert_eq!(names(&state), ["web", "web-worker", "batch", "short"]);
    typed(&mut state, "p");
    assert_eq!(names(&state), ["web", "batch", "short"]);
    typed(&mut state, "kg");
    assert_eq!(names(&state)[..2], ["/app.slice/200.service", "/app.slice/300.service"]);
    typed(&mut state, "c");
    assert_eq!(
        (names(&state), state.grouping),
        (vec!["0".into(), "1".into(), "2".into(), "3".into()], Grouping::Cpus)
    );
    typed(&mut state, "t");
    assert_eq!(names(&state).len(), 5);
}

#[test]
fn the_selection_follows_its_task_and_the_top_follows_nobody() {
    let mut state = state();
    state.press(Key::Down);
    state.press(Key::Down);
    let chosen = |state: &mut State| match state.selected_line() {
        Some(TableLine::Row(row)) => row.name,
        other => panic!("{other:?}"),
    };
    assert_eq!(chosen(&mut state), "batch");
    state.press(Key::Char('r'));
    assert_eq!(chosen(&mut state), "batch");
    let mut window = machine();
    window.tasks.retain(|row| row.name != "batch");
    state.take(window);
    assert_eq!(chosen(&mut state), "web-worker", "the one in its place");
    state.press(Key::End);
    assert_eq!(chosen(&mut state), "web");
    state.press(Key::Home);
    assert_eq!((chosen(&mut state).as_str(), &state.selected), ("short", &None));
}

#[test]
fn details_stay_when_the_task_is_gone() {
    let mut state = state();
    state.press(Key::Enter);
    assert!(matches!(&state.front, Front::Details(row) if row.name == "web" && !row.ended));
    let mut window = machine();
    window.tasks.retain(|row| row.name != "web");
    state.take(window);
    assert!(matches!(&state.front, Front::Details(row) if row.name == "web" && row.ended));
    assert_eq!(state.press(Key::Char('q')), Action::Draw, "back to the table");
    assert_eq!(state.press(Key::Char('q')), Action::Quit);
}

#[test]
fn pause_keeps_what_is_shown_and_the_interval_has_its_bounds() {
    let mut state = state();
    typed(&mut state, " ");
    let mut window = machine();
    window.tasks.clear();
    state.take(window.clone());
    assert_eq!((names(&state).len(), state.history.len()), (5, 2));
    typed(&mut state, " ");
    state.take(window);
    assert!(names(&state).is_empty());
    for (key, bound) in [('+', Duration::from_secs(60)), ('-', Duration::from_millis(100))] {
        for _ in 0..20 {
            state.press(Key::Char(key));
        }
        assert_eq!(state.interval(), bound);
    }
}

#[test]
fn names_of_columns_are_read_and_mistakes_are_named() {
    assert_eq!("p99".parse(), Ok(TopColumn::WaitP99));
    assert_eq!("Cost".parse(), Ok(TopColumn::Cost));
    let error = "price".parse::<TopColumn>().unwrap_err().to_string();
    assert!(error.contains("no column 'price'") && error.contains("cost-each"), "{error}");
    assert_eq!(
        State::new(Settings { sort: Some(TopColumn::Steal), ..Settings::default() }).grouping,
        Grouping::Cpus
    );
    assert_eq!(
        State::new(Settings { sort: Some(TopColumn::Tasks), ..Settings::default() }).grouping,
        Grouping::Processes
    );
}

fn any_key() -> impl Strategy<Value = Key> {
    use Key::{Backspace, Char, Ctrl, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Up};
    let other = vec![Backspace, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Up, Ctrl('u')];
    let letters: Vec<Key> = "tpcgkrs<>/? +-qweb2".chars().map(Char).collect();
    prop_oneof![prop::sample::select(other), prop::sample::select(letters), any::<char>().prop_map(Char)]
}

proptest! {
    /// Any keys, any size: it draws, and only that.
    #[test]
    fn no_key_and_no_size_panics(
        keys in prop::collection::vec(any_key(), 0..40),
        width in 1_u16..140,
        height in 1_u16..45,
        empty in any::<bool>(),
    ) {
        let mut state = state();
        for (at, key) in keys.into_iter().enumerate() {
            state.press(key);
            if at % 7 == 3 {
                state.take(if empty { Window::default() } else { sampled() });
            }
        }
        super::screens::screen(&mut state, width, height);
    }
}
