use super::super::{Key, Look, Settings, State, draw, text};
use super::keys::state;
use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

const LOOK: Look<'static> = Look { colour: false, host: "box", clock: "12:00:00 UTC" };

/// What is on a screen of a size, line by line.
pub(super) fn screen(state: &mut State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, &LOOK)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

#[test]
fn a_screen_of_the_usual_size() {
    let found = screen(&mut state(), 80, 16);
    let expected = [
        "swtch top  swtch 0.4 % CPU  every 1 s  by BPF, every event  box  12:00:00 UTC",
        "Switches 3,912/s  3,012 voluntary  901 involuntary  450 from idle  █",
        "Cost 0.2 % of all CPUs  1.83µs a switch  measured in place",
        "Tasks 5 seen, 5 active  3,012 wake-ups/s  0.5 forks/s  pressure % cpu 15.0",
        "  0[|||||||||###                  40.0]   2[|||||||||||||||###            60.0]",
        "  1[||||||||||||###               50.0]   3[||||||||||||||||||###         70.0]",
        "     PID NAME            COST%v     SW/s WAITms/s  WAITp99   CPU% BEHIND",
        ">    200 web                0.3    2,100       20    180µs   21.0 batch 100 %",
        "     201 web-worker         0.2    1,500      100    180µs   15.0 batch 80 %",
        "     300 batch             0.05      300       60    180µs    3.0 web 83 %",
        "      15 kworker/0:1      0.002       10        0    180µs    0.1",
        "     400 short              0.0      2.0      0.1    180µs   0.02",
        "",
        "",
        "",
        "tasks  q quit  ? help  </> sort  r reverse  / filter  t p c g view  Space pause",
    ];
    assert_eq!(found, expected, "{}", found.join("\n"));
}

#[test]
fn narrow_screens_drop_columns_and_never_run_over() {
    let mut state = state();
    let mut titles = Vec::new();
    for width in (40..180).rev() {
        let found = screen(&mut state, width, 24);
        let title = found.iter().find(|line| line.contains("NAME")).unwrap().clone();
        assert!(title.contains("COST%v"), "{title}");
        titles.push(title.split_whitespace().count());
        let web = found.iter().find(|line| line.starts_with('>')).unwrap();
        assert!(web.contains(" web "), "{web}");
    }
    assert!(titles.first() > titles.last());
    assert!(screen(&mut state, 40, 24).iter().any(|line| line.contains("SW/s")));
    assert_eq!(screen(&mut state, 39, 24)[0], "39x24 is too small; 40x8 is needed");
    assert!(
        screen(&mut state, 40, 8).iter().any(|line| line.starts_with('>')),
        "a line of the table at least"
    );
}

#[test]
fn names_that_are_long_wide_or_wicked_stay_in_their_column() {
    let mut window = machine();
    window.tasks[1].name = "日本語日本語日本語日本語".to_owned();
    window.tasks[2].name = "\x1b[2J\x1b[H-a-very-long-name-of-a-thread".to_owned();
    let mut state = State::new(Settings::default());
    state.take(window);
    let found = screen(&mut state, 80, 20);
    let line =
        |name: &str| found.iter().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{found:#?}"));
    assert!(!found.concat().contains('\x1b'));
    let end_of = |text: &str, figure: &str| line(text).find(figure).unwrap() + figure.len();
    assert_eq!(end_of("?[2J?[H-a-very+", "0.2"), end_of("300 batch", "0.05"));
    assert!(found.iter().any(|line| line.contains('日') && line.contains("2,100")));
}

#[test]
fn colour_is_never_the_only_sign() {
    let mut state = state();
    let mut terminal = Terminal::new(TestBackend::new(100, 20)).unwrap();
    terminal.draw(|frame| draw(frame, &mut state, &LOOK)).unwrap();
    let colours = |terminal: &Terminal<TestBackend>| {
        terminal
            .backend()
            .buffer()
            .content
            .iter()
            .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
            .count()
    };
    assert_eq!(colours(&terminal), 0, "NO_COLOR means none");
    terminal.draw(|frame| draw(frame, &mut state, &Look { colour: true, ..LOOK })).unwrap();
    assert!(colours(&terminal) > 0);
}

#[test]
fn many_processors_are_blocks() {
    let mut window = machine();
    window.cpus = (0..256)
        .map(|number| super::super::CpuRates { cpu: number, ..window.cpus[(number % 4) as usize] })
        .collect();
    let mut state = State::new(Settings::default());
    state.take(window);
    let found = screen(&mut state, 80, 24);
    assert!(found.iter().any(|line| line.starts_with("CPU    0 ▄▅▅▆▄▅▅▆")), "{found:#?}");
    assert!(found.iter().any(|line| line.starts_with('>')));
}

#[test]
fn details_say_which_tasks_are_in_front_preempt_and_wake() {
    let mut state = state();
    state.press(Key::Down);
    state.press(Key::Enter);
    let found = screen(&mut state, 100, 30).join("\n");
    for words in [
        "web-worker, task 201 of process 200",
        "cgroup        /app.slice/200.service",
        "1,500/s: 1,000 voluntary, 500 involuntary",
        "p50 40.0µs  p90 150µs  p99 180µs  longest 200µs",
        "Waits behind  batch 80 %, 80 ms/s",
        "              interrupts 20 %, 20 ms/s",
        "Preempted by  batch (300) 500/s, for which it waited 100 ms/s",
        "Woken by      web (200) 1,000/s",
    ] {
        assert!(found.contains(words), "{words} in\n{found}");
    }
}

#[test]
fn what_is_not_known_says_so() {
    let mut state = State::new(Settings::default());
    state.take(sampled());
    let found = screen(&mut state, 100, 20).join("\n");
    assert!(found.contains("Cost unknown  no Profile; 'swtch measure' makes one"), "{found}");
    assert!(found.contains("n/a from idle") && found.contains("SW/sv"), "{found}");
    state.press(Key::Enter);
    let found = screen(&mut state, 100, 30).join("\n");
    assert!(found.contains("samples do not see it") && found.contains("unknown: no Profile"), "{found}");
}

#[test]
fn losses_stand_out_even_where_there_is_little_room() {
    let mut window = machine();
    (window.totals.lost, window.totals.lost_ever) = (7, 1007);
    let mut state = State::new(Settings::default());
    state.take(window);
    assert!(screen(&mut state, 70, 20)[3].contains("LOST 7 events, 1007 in all"));
}

#[test]
fn a_filter_that_nothing_has_is_named() {
    let mut state = state();
    for key in "/zzz".chars() {
        state.press(Key::Char(key));
    }
    let found = screen(&mut state, 80, 20);
    assert!(found[7].contains("nothing has 'zzz' in its name"), "{found:#?}");
    assert!(found[19].starts_with("Filter: zzz_"), "{found:#?}");
}

/// A line shows the name; details have the path too, and the filter looks at both.
#[test]
fn a_control_group_has_its_name_and_its_path() {
    let mut window = machine();
    for row in window.tasks.iter_mut().filter(|row| row.pid == Some(200)) {
        row.cgroup = Some(format!("/docker/{}", "0123456789abcdef".repeat(4)));
    }
    window.name_cgroups(&swtch_trace::PodNames::default());
    for filter in ["/docker/01", "docker 01"] {
        let mut state = State::new(Settings { filter: filter.to_owned(), ..Settings::default() });
        state.take(window.clone());
        assert!(
            text(&state, "box", "12:00:00 UTC").lines().any(|line| line.ends_with(" docker 0123456789ab"))
        );
        state.press(Key::Char('g'));
        let found = screen(&mut state, 165, 30).join("\n");
        assert!(
            found.contains(" docker 0123456789ab\n") && !found.contains("/docker/0123456789abcdef"),
            "{found}"
        );
        state.press(Key::Enter);
        let found = screen(&mut state, 165, 30).join("\n");
        assert!(found.contains("cgroup        /docker/0123456789abcdef"), "{found}");
        assert!(found.contains("which is      docker 0123456789ab"), "{found}");
    }
}

#[test]
fn text_has_all_columns_and_only_what_was_active() {
    let mut state = State::new(Settings { filter: "/app".to_owned(), ..Settings::default() });
    let mut window = machine();
    window.tasks.push(super::super::TopRow { name: "idler".to_owned(), ..window.tasks[1].clone() });
    window.tasks.last_mut().unwrap().rates = super::super::Rates::default();
    state.take(window);
    let found = text(&state, "box", "12:00:00 UTC");
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 4 + 1 + 4, "{found}");
    assert!(lines[4].trim_start().starts_with("PID  NAME") && lines[4].ends_with("CGROUP"), "{found}");
    assert!(lines[5].contains("web ") && lines[5].ends_with("/app.slice/200.service"), "{found}");
}
