//! The page as a whole, from profiles with everything, with little, with nothing, and with malice.

use crate::synthetic::{SERVER, VM, bare, estimate, full, unavailable};
use crate::visible::visible;
use swtch_profile::Profile;
use swtch_profile::vocabulary::{Class, Flag, Method, Tasks};
use swtch_report::html::{NamedProfile, ReportError, render};
use swtch_topology::Placement;

fn named(name: &str, profile: Profile) -> NamedProfile {
    NamedProfile { name: name.to_owned(), document: profile }
}

fn page(profile: Profile) -> String {
    render(&[named("vm", profile)]).unwrap()
}

#[test]
fn the_answer_comes_first_and_is_the_profiles() {
    let text = visible(&page(full(VM)));
    assert!(text.contains(
        "A switch between two threads on one CPU costs 1.01 µs ± 0.01 (median, 95 %), 880 ns undisturbed"
    ));
    assert!(text.contains("to wake one on another CPU costs 28.4 µs."));
    assert!(text.contains("When each task works on 1 MiB, refilling the caches adds"));
}

#[test]
fn what_disturbed_or_emulated_the_measurement_stands_before_the_figures() {
    let mut emulated = full(SERVER);
    emulated.host.cpu_model = Some("QEMU TCG CPU version 2.5+".to_owned());
    emulated.noise.foreign_share = Some(0.4);
    let html = render(&[named("host", full(SERVER)), named("guest", emulated)]).unwrap();
    let text = visible(&html);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
    let note = place(
        "guest: The Profile was measured on an emulated machine, so its times are not those of hardware.",
    );
    assert!(note < place("A switch between two threads"), "{text}");
    place(
        "guest: Other programs or the hypervisor took 40 % of the CPUs' time while the Profile was measured",
    );
    assert!(!text.contains("host: The Profile"), "{text}");
}

#[test]
fn another_row_answers_when_the_usual_one_is_absent() {
    let mut profile = full(SERVER);
    profile.direct.retain(|row| {
        row.placement != Placement::SameCpu && row.method == Method::Futex && row.tasks == Tasks::Process
    });
    let text = visible(&page(profile));
    assert!(
        text.contains("A switch between two processes on two SMT siblings of one core (method futex) costs"),
        "{text}"
    );

    let mut fifo = full(SERVER);
    fifo.direct.retain(|row| row.class == Class::Fifo && row.placement == Placement::Unpinned);
    assert!(visible(&page(fifo)).contains("two threads left unpinned, in the real-time FIFO class, costs"));
}

#[test]
fn a_cost_below_zero_is_said_and_not_hidden() {
    let mut profile = full(VM);
    profile.direct.truncate(1);
    profile.direct[0].switch_cost_ns = estimate(-4.0);
    profile.direct[0].switch_cost_ns.flags.push(Flag::Negative);
    let html = page(profile);
    let text = visible(&html);
    assert!(text.contains("cannot be distinguished from noise: the figure is −4.00 ns"));
    assert!(text.contains("a value at or below zero, which a logarithmic axis cannot hold"));
    assert!(html.contains("class=\"off c0\""));
    assert!(text.contains("the work without switches took longer than the work with them"));
}

#[test]
fn only_direct_figures_make_a_page_that_says_what_is_missing() {
    let mut profile = bare(VM);
    profile.direct = full(VM).direct;
    profile.unavailable.push(unavailable("c2 curve", "the time limit was reached first"));
    let html = page(profile);
    let text = visible(&html);
    assert_eq!(
        html.matches("<figure ").count(),
        2,
        "the direct chart and the references with the switch itself"
    );
    assert!(text.contains("This profile (preset default) holds no sequential c2 curve. The reason given:"));
    assert!(text.contains("c2 curve: the time limit was reached first"));
    assert!(
        text.contains("This profile (preset default) holds no ring of processes and gives no reason for it.")
    );
    assert!(text.contains("not in this profile"));
}

#[test]
fn a_profile_of_nothing_but_reasons_is_still_a_page() {
    let mut profile = bare(VM);
    profile.host = swtch_topology::Host::default();
    profile.unavailable.push(unavailable("all figures", "the sandbox forbids pinning"));
    let html = page(profile);
    assert!(!html.contains("<figure"));
    let text = visible(&html);
    assert!(text.contains("This profile holds no figure for a switch"));
    assert!(text.contains("the sandbox forbids pinning"));
    assert!(!html.contains("NaN") && !html.contains("inf\""));
}

#[test]
fn nothing_at_all_is_an_error() {
    assert!(matches!(render(&[]), Err(ReportError::NoProfiles)));
}

#[test]
fn texts_from_profiles_cannot_become_markup() {
    let evil = "<script>alert(1)</script>\"'&";
    let mut profile = full(SERVER);
    for knee in &mut profile.knees {
        knee.kind = evil.to_owned();
    }
    profile.host.cpu_model = Some(evil.to_owned());
    profile.host.architecture = evil.to_owned();
    profile.host.kernel.release = evil.to_owned();
    profile.provenance.source = evil.to_owned();
    profile.provenance.preset = evil.to_owned();
    profile.clock.source = evil.to_owned();
    profile.samples = Some(evil.to_owned());
    profile.unavailable.push(unavailable(evil, evil));
    let one = [named(evil, profile.clone())];
    let two = [named(evil, profile), named("vm", full(VM))];
    for profiles in [&one[..], &two[..]] {
        let html = render(profiles).unwrap();
        assert_eq!(html.matches("<script").count(), 1, "the page's own");
        assert!(html.contains("&lt;script&gt;"));
        // Quotes must not end an attribute either.
        assert!(!html.contains("script>\"'&"));
    }
}

#[test]
fn several_profiles_stand_side_by_side() {
    let html = render(&[named("vm", full(VM)), named("server", full(SERVER))]).unwrap();
    let text = visible(&html);
    assert!(text.contains("What a context switch costs on vm and server"));
    assert!(text.contains("Side by side") && text.contains("better"), "{text}");
    assert!(html.contains("<th scope=\"col\">Profile</th>"));
    assert_eq!(html.matches("id=\"figure-ring-").count(), 3, "a heat map each, and the curves");
    assert!(text.contains("Only in server: "), "{text}");
}

#[test]
fn a_reason_that_profiles_share_stands_once() {
    let mut profile = full(VM);
    profile.unavailable = vec![unavailable("placement shared-l2", "no two cores share an L2")];
    let text = visible(&render(&[named("one", profile.clone()), named("two", profile)]).unwrap());
    assert!(text.contains("one and two: placement shared-l2: no two cores share an L2"), "{text}");
}

#[test]
fn many_profiles_repeat_colours_rather_than_fail() {
    let all: Vec<NamedProfile> = (0..8).map(|i| named(&format!("machine-{i}"), full(VM))).collect();
    let html = render(&all).unwrap();
    assert!(html.contains("machine-7"));
    assert!(!html.contains("c6\""));
}

#[test]
fn the_same_profiles_give_the_same_bytes() {
    let profiles = [named("vm", full(VM)), named("server", full(SERVER))];
    assert_eq!(render(&profiles).unwrap(), render(&profiles).unwrap());
}

#[test]
fn the_page_needs_nothing_else_and_is_small() {
    let html = page(full(VM));
    for outside in ["http://", "https://", "<link rel=\"stylesheet\"", "@import", "src=", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.len() < 400_000, "{} bytes", html.len());
}

#[test]
fn every_chart_has_a_name_two_drawings_and_a_table() {
    let html = page(full(VM));
    let figures = html.matches("<figure ").count();
    assert_eq!(figures, 6);
    assert_eq!(html.matches("<summary>The numbers as a table</summary>").count(), figures);
    for drawing in ["class=\"chart wide\"", "class=\"chart narrow\""] {
        assert_eq!(html.matches(drawing).count(), figures);
    }
    assert_eq!(html.matches("role=\"img\" aria-label=\"").count(), 2 * figures);
}

#[test]
fn odd_figures_do_not_break_a_chart() {
    let mut profile = full(VM);
    for row in &mut profile.total {
        row.total_cost_ns = estimate(-1.0);
        row.indirect_cost_ns.median = -2.0;
    }
    for row in &mut profile.ring {
        row.switch_cost_ns = estimate(0.0);
    }
    profile.references.syscall_ns = Some(estimate(-1.0));
    let html = page(profile);
    assert!(!html.contains("NaN"));
    assert!(html.contains("id=\"figure-total\"") && html.contains("id=\"figure-ring-0\""));
}
