use super::*;
use std::path::Path;
use swtch_topology::capability::Probe;

fn probes(realtime: bool) -> Probes {
    let probe = |works| Probe { works, why: (!works).then(|| "Operation not permitted".to_owned()) };
    Probes {
        realtime: probe(realtime),
        pinning: probe(true),
        perf_events: probe(true),
        hardware_counters: probe(true),
        bpf: probe(true),
        switch_counts: probe(true),
    }
}

fn machine(name: &str) -> Host {
    Host::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(name)).unwrap()
}

fn plan(options: &Options, name: &str, realtime: bool) -> Plan {
    Plan::new(options, &machine(name), &probes(realtime)).unwrap()
}

fn placements(plan: &Plan) -> Vec<Placement> {
    let mut found: Vec<Placement> =
        plan.conditions.iter().map(|planned| planned.condition.placement).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn a_server_is_measured_on_every_placement_it_has() {
    let plan = plan(&Options::default(), "server-2-sockets", true);
    let found = placements(&plan);
    for placement in [Placement::SameCpu, Placement::SmtSibling, Placement::OtherPackage, Placement::Unpinned]
    {
        assert!(found.contains(&placement), "{placement} is missing from {found:?}");
    }
    assert!(plan.unavailable.iter().any(|row| row.field.as_str() == "placement other-core-kind"));
}

#[test]
fn a_hybrid_machine_is_measured_on_a_core_of_each_kind() {
    let plan = plan(&Options::default(), "laptop-hybrid", true);
    let homes: std::collections::BTreeSet<&Vec<u32>> = plan
        .conditions
        .iter()
        .filter(|planned| {
            planned.part == ProfilePart::Direct && planned.condition.placement == Placement::SameCpu
        })
        .map(|planned| &planned.condition.cpus)
        .collect();
    assert_eq!(homes.len(), 2, "{homes:?}");
}

#[test]
fn one_processor_and_no_privilege_say_what_is_lost() {
    let plan = plan(&Options::default(), "container-v1-quota", false);
    assert_eq!(placements(&plan), [Placement::SameCpu, Placement::Unpinned]);
    let why = |what: &str| {
        plan.unavailable
            .iter()
            .find(|row| row.field.as_str() == what)
            .unwrap_or_else(|| panic!("{what}"))
            .reason
            .clone()
    };
    assert!(why("class fifo").contains("Operation not permitted") && why("class fifo").contains("setcap"));
    assert!(!why("placement shared-l3").is_empty());
    assert!(plan.conditions.iter().all(|planned| planned.condition.class == Class::Normal));
}

#[test]
fn every_method_and_kind_of_task_is_in_the_quick_run() {
    let plan = plan(&Options::preset(Preset::Quick), "vm-firecracker", true);
    for method in Method::ALL {
        for tasks in method.facts().tasks.iter().copied() {
            let there = plan.conditions.iter().any(|planned| {
                matches!(planned.condition.work, Work::Switch { method: m, tasks: t, pattern, .. }
                    if m == method && t == tasks && pattern.array_bytes == 0)
            });
            assert!(there, "{method} between {}s", tasks.name());
        }
    }
}

#[test]
fn the_quick_run_stays_within_its_memory() {
    let plan = plan(&Options::preset(Preset::Quick), "vm-firecracker", true);
    let most = plan.conditions.iter().map(|planned| planned.condition.memory_bytes()).max();
    assert!(most.unwrap() <= 64 << 20, "{most:?}");
}

#[test]
fn the_sweep_goes_from_a_kibibyte_to_four_last_level_caches() {
    let plan = plan(&Options::default(), "vm-firecracker", true);
    let sizes: Vec<u64> = plan
        .conditions
        .iter()
        .filter(|planned| planned.part == ProfilePart::Total)
        .map(|planned| planned.condition.memory_bytes() / 2)
        .collect();
    let last_level = machine("vm-firecracker").last_level_cache_bytes().unwrap();
    assert_eq!(sizes.iter().min(), Some(&1024));
    assert_eq!(sizes.iter().max(), Some(&(4 * last_level)));
}

#[test]
fn a_bound_is_kept() {
    let options = Options { max_array_bytes: Some(100 << 10), ..Options::default() };
    let plan = plan(&options, "vm-firecracker", true);
    let most = plan
        .conditions
        .iter()
        .filter(|planned| planned.part == ProfilePart::Total)
        .map(|planned| planned.condition.memory_bytes() / 2)
        .max();
    assert_eq!(most, Some(96 << 10));
}

#[test]
fn the_total_cost_always_has_its_direct_cost() {
    let options = Options {
        methods: Some(vec![Method::Pipe]),
        placements: Some(vec![Placement::SameCpu]),
        classes: Some(vec![Class::Normal]),
        sizes_bytes: Some(vec![4096]),
        ..Options::default()
    };
    let plan = plan(&options, "vm-firecracker", true);
    let c1 = plan.conditions.iter().filter(|planned| {
        planned.part == ProfilePart::Direct
            && matches!(planned.condition.work, Work::Switch { tasks: Tasks::Process, .. })
    });
    assert_eq!(c1.count(), 1);
}

#[test]
fn parts_that_were_not_asked_for_say_so() {
    let what = |options: &Options| -> Vec<String> {
        let plan = plan(options, "vm-firecracker", true);
        plan.unavailable
            .into_iter()
            .map(|row| row.field.to_string())
            .filter(|what| !what.contains(' '))
            .collect()
    };
    assert_eq!(what(&Options::preset(Preset::Quick)), ["strides"]);
    assert!(what(&Options::default()).is_empty());
    let strides = Options { strides_bytes: Some(vec![8, 64]), ..Options::preset(Preset::Quick) };
    assert!(what(&strides).is_empty());
    let futex = Options { methods: Some(vec![Method::Futex]), ..Options::default() };
    let plan = plan(&futex, "vm-firecracker", true);
    for part in ["total cost", "ring of processes", "messages", "references"] {
        assert!(plan.unavailable.iter().any(|row| row.field.as_str() == part), "{part}");
    }
}

#[test]
fn what_leaves_nothing_is_an_error_with_the_reason() {
    let options = Options { classes: Some(vec![Class::Fifo]), ..Options::default() };
    let error = Plan::new(&options, &machine("vm-firecracker"), &probes(false)).unwrap_err();
    assert!(error.to_string().contains("Operation not permitted"), "{error}");
}

/// One method at one placement is what was asked for: arrays are gone through when something about them is asked for.
#[test]
fn refills_are_measured_where_they_are_asked_for() {
    let asked = Options {
        methods: Some(vec![Method::Pipe]),
        placements: Some(vec![Placement::SameCpu]),
        ..Options::preset(Preset::Quick)
    };
    let of = |options: &Options| plan(options, "vm-firecracker", true);
    let only = of(&asked);
    assert!(
        only.conditions.iter().all(|planned| planned.part == ProfilePart::Direct),
        "{:?}",
        only.conditions
    );
    let why = only.unavailable.iter().find(|row| row.field.as_str() == "total cost").unwrap();
    assert!(why.reason.contains("--sizes"), "{why:?}");
    let sized = of(&Options { sizes_bytes: Some(vec![4096]), ..asked });
    assert!(sized.conditions.iter().any(|planned| planned.part == ProfilePart::Total));
    let all = of(&Options::preset(Preset::Quick));
    assert!(all.conditions.iter().any(|planned| planned.part == ProfilePart::Total));
}

/// An emulated machine reports caches and has none.
#[test]
fn an_emulated_machine_has_nothing_to_refill() {
    let mut host = machine("vm-firecracker");
    host.cpu_model = Some("QEMU TCG CPU version 2.5+".to_owned());
    for options in [Options::default(), Options { sizes_bytes: Some(vec![4096]), ..Options::default() }] {
        let plan = Plan::new(&options, &host, &probes(true)).unwrap();
        let no_array = |planned: &Planned| !matches!(planned.condition.work, Work::Switch { pattern, .. } if pattern.array_bytes > 0);
        assert!(plan.conditions.iter().all(no_array));
        let why = plan.unavailable.iter().find(|row| row.field.as_str() == "total cost").unwrap();
        assert!(why.reason.contains("emulated"), "{why:?}");
    }
}
