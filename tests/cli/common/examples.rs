//! The examples of every command's `--help` and the commands in the documents, and running them.

use super::{fixture, home, is_root, run, skip, stderr, stdout, swtch, without_bpf};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use swtch_trace::tables::{StackRow, SwitchRow};
use swtch_trace::{Trace, Writer};

/// The examples of a help text: indented lines that begin with the program's name, less the remark after two blanks.
fn examples(help: &str) -> Vec<String> {
    help.lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| rest.starts_with("swtch ")))
        .map(|line| line.split("  ").next().unwrap_or(line).trim().to_owned())
        .collect()
}

/// The commands of a document: lines `$ swtch ...` in its code blocks.
fn commands(document: &str) -> Vec<String> {
    let lines = document.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.map(|line| line.split("  #").next().unwrap_or(line).trim().to_owned()).collect()
}

const PIPELINE: &str = "machine = 4\npolicies = [\"eevdf\", \"rr\"]\n[[task]]\nname = \"a\"\nprogram = \"loop 9 { compute 1ms; sleep 1ms }\"\n";
const GRID: &str = "machines = [4]\npolicies = [\"eevdf\", \"rr\"]\nworkloads = [\"spin:work_ns=1ms\"]\n";
const BUDGET: &str = "[[budget]]\nname = \"startup\"\ncommand = \"true\"\nwhere = \"here\"\nruns = 6\nswitches = { max = 100000 }\n";
const RT_APP: &str = r#"{ "tasks": { "worker": { "loop": 10, "run": 1000, "sleep": 500 } } }"#;

/// The table of the simulator's errors, and the scheduler whose source it names.
fn furnish_accuracy(home: &Path) {
    let source = "schedulers/global_fifo/src/bpf/global_fifo.bpf.c";
    let files = ["accuracy.json", "profile.json"]
        .map(|file| (format!("accuracy/{file}"), format!("accuracy/{file}")));
    for (from, to) in files.into_iter().chain([(format!("../{source}"), source.to_owned())]) {
        let to = home.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture(&from), to).unwrap();
    }
    // A part of it: another test simulates all rows, which takes half a minute.
    let path = home.join("accuracy/accuracy.json");
    let mut table: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let rows: serde_json::Value = table["rows"].as_array().unwrap().iter().step_by(10).cloned().collect();
    table["rows"] = rows;
    fs::write(&path, table.to_string()).unwrap();
}

/// A home with what the examples name: profiles of other machines, one of this machine, and Traces.
pub fn furnished() -> super::Home {
    let home = home();
    for (name, source) in [
        ("board", "vm"),
        ("server", "server"),
        ("last-week", "vm"),
        ("before", "vm"),
        ("after", "server"),
        ("old-kernel", "vm"),
        ("new-kernel", "vm-later"),
    ] {
        let source = fixture(&format!("profiles/{source}.json"));
        fs::copy(source, home.path().join(format!("{name}.json"))).unwrap();
    }
    let repeats = ["old-1", "old-2", "old-3", "new-1", "new-2", "new-3"];
    let repeats = repeats.map(|name| (name, format!("../repeats/{name}")));
    for (name, source) in [("before", "machine"), ("after", "procfs")]
        .map(|(name, source)| (name, source.to_owned()))
        .into_iter()
        .chain(repeats)
    {
        let folder = home.path().join(format!("{name}.swtch"));
        fs::create_dir(&folder).unwrap();
        for file in fs::read_dir(fixture(&format!("traces/{source}.swtch"))).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
    furnish_accuracy(home.path());
    for name in ["cloud", "edge"] {
        fs::create_dir(home.path().join(name)).unwrap();
        let source = fixture(&format!("studies/{name}/study.json"));
        fs::copy(source, home.path().join(name).join("study.json")).unwrap();
    }
    // A Trace whose command wrote spans, and the same spans by other programs.
    for name in ["shop", "machine"] {
        let (from, to) = (fixture("traces/machine.swtch"), home.path().join(format!("{name}.swtch")));
        assert!(run(Command::new("cp").arg("-r").args([from, to])).status.success());
    }
    let units = fs::read_to_string(fixture("spans/machine.jsonl")).unwrap();
    for name in ["shop.spans.jsonl", "spans.jsonl"] {
        fs::write(home.path().join(name), units.replace("unit", "checkout")).unwrap();
    }
    for (from, to) in [("machine.otlp.json", "traces.json"), ("machine.access.log", "access.log")] {
        fs::copy(fixture(&format!("spans/{from}")), home.path().join(to)).unwrap();
    }
    fs::create_dir(home.path().join("faas-tiers")).unwrap();
    for (from, to) in
        [("gcf/tiers.json", "faas-tiers/tiers.json"), ("python.json", "python.json"), ("go.json", "go.json")]
    {
        fs::copy(fixture(&format!("faas/{from}")), home.path().join(to)).unwrap();
    }
    fs::create_dir(home.path().join("swtch")).unwrap();
    fs::copy(fixture("profiles/vm.json"), home.path().join("swtch/profile.json")).unwrap();
    let kinds = r#"{"types": [{"name": "big", "cores": 1}, {"name": "small", "cores": 2}], "speeds": [[3, 1], [2, 1], [1.5, 1]]}"#;
    fs::write(home.path().join("kinds.json"), kinds).unwrap();
    write_texts(home.path());
    for folder in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    let server = home.path().join("server");
    fs::write(&server, "#!/bin/sh\nsleep 0.1\n").unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(&server, home.path().join("threads")).unwrap();
    // A Trace, and the text that it was made of.
    fs::copy(fixture("imports/ftrace.txt"), home.path().join("trace.txt")).unwrap();
    let imported = run(swtch(home.path()).args(["import", "trace.txt", "-o", "imported.swtch"]));
    assert!(imported.status.success(), "{}", stderr(&imported));
    add_a_stack(&home.path().join("imported.swtch"), &home.path().join("run.swtch"));
    let sweep = ["simulate", "--sweep", "grid.toml", "--out", "policies.parquet"];
    let swept = run(swtch(home.path()).args(sweep));
    assert!(swept.status.success(), "{}", stderr(&swept));
    home
}

/// Small inputs.
/// The hash is of "open sesame", by htpasswd.
const WEB_CONFIG: &str =
    "basic_auth_users:\n  prometheus: $2y$04$AFVFW5MC64d2im4Ndc2ewuNEI/Tklzs1IBhcVSraVS/pLmf9VzaXK\n";

fn write_texts(home: &Path) {
    let texts = [
        ("pipeline.toml", PIPELINE),
        ("grid.toml", GRID),
        ("swtch-budget.toml", BUDGET),
        ("words", "some\nwords\n"),
        ("board.rt.json", RT_APP),
        ("web.yml", WEB_CONFIG),
        ("Makefile", "all:\n\t@sleep 0.1\n"),
    ];
    for (name, text) in texts {
        fs::write(home.join(name), text).unwrap();
    }
}

/// Copies a Trace, and gives the copy a stack: an imported one has none.
fn add_a_stack(from: &Path, to: &Path) {
    let mut trace = Trace::open(from).unwrap();
    let switches: Vec<SwitchRow> = trace.switches().collect::<Result<_, _>>().unwrap();
    let (task, frames, function) = ("task".to_owned(), "main;work".to_owned(), "work".to_owned());
    trace.tables.stacks.push(StackRow {
        task,
        frames,
        function,
        switches: 2,
        off_cpu_ns: 9,
        ..StackRow::default()
    });
    let mut writer = Writer::create(to, &trace.header).unwrap();
    writer.append_switches(&switches).unwrap();
    trace.tables.put_all(&mut writer).unwrap();
    writer.finish(&trace.header).unwrap();
}

/// The example as it stands, but with a second to measure instead of a minute, and of a process and a cgroup that are there.
fn made_short(example: &str) -> String {
    match example.strip_prefix("swtch measure") {
        Some(rest) if !rest.contains("--with") => return format!("swtch measure --time-limit 1s{rest}"),
        _ => {}
    }
    if let Some((probe, _)) = example.strip_prefix("swtch probe").and_then(|rest| rest.split_once(" -- ")) {
        // A command that is here, and says how far it is. The limit that is named first is too long.
        let probe = probe.replace("--time-limit 3m", "");
        return format!("swtch probe --time-limit 5s{probe} -- dd if=/dev/zero of=/dev/null bs=64k");
    }
    if example.starts_with("swtch vm ") && example.ends_with("-- swtch measure --quick") {
        // Two boots that count instructions take a minute; that they agree is tested elsewhere.
        return example.replace("--deterministic ", "") + " --method pipe --time-limit 1s";
    }
    for command in ["swtch compare", "swtch try"] {
        if let Some(rest) = example.strip_prefix(command) {
            let counts = ["--runs 3 ", "--runs 5 ", "--runs 6 ", "--runs 10 "];
            let rest = counts.iter().fold(rest.to_owned(), |text, runs| text.replace(runs, ""));
            return format!("{command} --runs 1 --warmup 0{rest}");
        }
    }
    match example.strip_prefix("swtch serve") {
        // It would go on for ever; a signal ends it without a failure.
        Some(rest) if !rest.contains("--once") && !rest.contains("--dashboard") => {
            let listen = if rest.contains("--listen") { "" } else { " --listen 127.0.0.1:0" };
            return format!(
                "timeout --foreground --preserve-status 3 swtch serve{listen}{}",
                rest.replace("17982", "0")
            );
        }
        _ => {}
    }
    if example.starts_with("swtch sched compare --policies") && !is_root() {
        return example.replace("stock,fifo,rr", "stock");
    }
    if let Some(rest) = example.strip_prefix("swtch dump") {
        // It asks a server.
        return format!(
            "swtch serve --listen 127.0.0.1:0 --keep 1s{rest} > serving.txt & server=$!; \
             for i in $(seq 200); do grep -q Metrics serving.txt && break; sleep 0.1; done; \
             swtch dump{rest} && kill $server && wait $server"
        );
    }
    if let Some(rest) = example.strip_prefix("swtch check") {
        // There is no repository here.
        let rest = rest.replace(" --baseline origin/main", " --baseline swtch-baseline.json");
        return format!("swtch check --accept --json=out.json && swtch check{rest}");
    }
    if example.starts_with("swtch sweep") {
        // The sweep here has one shard.
        return example.replace("--shards 3,17-19", "--shards 0");
    }
    // Without a terminal it would go on for ever.
    let ends = ["--once", "-n "].iter().any(|option| example.contains(option));
    let example = match example.strip_prefix("swtch top") {
        Some(rest) if !ends => &format!("swtch top -n 1{rest}"),
        _ => example,
    };
    let durations = ["--duration 10s", "--duration 30s", "--duration 1m"];
    let short =
        durations.iter().fold(example.to_owned(), |text, long| text.replace(long, "--duration 300ms"));
    short
        .replace("-p 1234", &format!("-p {}", std::process::id()))
        .replace("/system.slice/web.service", "/")
        // All loads have this machine to themselves for five minutes.
        .replace("accuracy --host --policies rr,fifo", "accuracy --host --loads perf-pipe --policies fifo")
}

/// That it runs is tested, and not what it finds: on emulated CPUs the load of an example takes up to half a minute.
fn with_a_small_load(example: &str) -> String {
    let loads = ["-g 4 -l 100", "-g 2 -l 50", "-g 2 -l 20", "-g 1 -l 20"];
    let small = loads.iter().fold(example.to_owned(), |text, load| text.replace(load, "-g 1 -l 5"));
    let small = small.replace("swtch try --vm --schedulers", "swtch try --vm --runs 3 --schedulers");
    match small.strip_suffix("hackbench -p").or_else(|| small.strip_suffix("hackbench -g 1")) {
        Some(before) => format!("{before}hackbench -p -g 1 -l 5"),
        None => small,
    }
}

/// Whether this example loads a scheduler: then it runs in a guest.
fn loads(example: &str) -> bool {
    let word = example.strip_prefix("swtch sched ").and_then(|rest| rest.split(' ').next());
    let asks = ["list", "status", "compare", "bench", "bisect", "get", "accuracy", "new"]
        .contains(&word.unwrap_or("list"));
    !asks && !example.contains("--help")
}

/// Whether this example boots a virtual machine.
fn boots(example: &str) -> bool {
    example.starts_with("swtch vm ")
        || [
            "swtch try --vm",
            "swtch sched compare --vm",
            "swtch sched bench --loads",
            "swtch sched accuracy --loads",
        ]
        .iter()
        .any(|start| example.starts_with(start))
}

/// Runs those that need no virtual machine; how many they were.
pub fn run_here(examples: &[String], home: &Path) -> usize {
    let here: Vec<&String> = examples.iter().filter(|example| !loads(example) && !boots(example)).collect();
    for example in &here {
        runs(example, home);
    }
    here.len()
}

/// Runs those that boot a virtual machine, and those that load a scheduler, all in one.
pub fn run_in_guests(examples: &[String], home: &Path) {
    let (loading, others): (Vec<&String>, Vec<&String>) = examples.iter().partition(|example| loads(example));
    let mut seen = std::collections::HashSet::new();
    for example in
        others.into_iter().filter(|example| boots(example)).map(|example| with_a_small_load(example))
    {
        // Examples that differ in their load alone are one.
        if seen.insert(example.clone()) {
            runs(&example, home);
        }
    }
    load_in_guest(&loading, home);
}

/// Runs examples that load a scheduler, in one guest, each for a second, on a process and a cgroup that are there.
fn load_in_guest(examples: &[&String], home: &Path) {
    // A guest has no compiler; `swtch vm --sched` and `swtch sched compare --vm` take the file there as a program.
    let (files, examples): (Vec<&String>, Vec<&String>) =
        examples.iter().partition(|example| example.contains(".bpf.c"));
    for example in files {
        skip(example, "the guest has no compiler; all_policies_are_compared_in_one_boot runs a file there");
    }
    let script: Vec<String> = examples
        .iter()
        .map(|example| {
            example.replace("$(pidof server)", "$$").replace("/batch.slice", "").replace("--for 60s", "")
        })
        .map(|example| format!("{example} --for 1s"))
        .collect();
    let bin = Path::new(env!("CARGO_BIN_EXE_swtch")).parent().unwrap();
    if examples.is_empty() {
        return;
    }
    let mut copies = String::new();
    for scheduler in ["scx_flsched", "scx_fair"] {
        let path = bin.join(scheduler);
        if !path.is_file() {
            skip(&script.join(", "), &format!("{scheduler} is not built"));
            return;
        }
        copies.push_str(&format!(" --copy {}", path.display()));
    }
    let script = format!("set -e; {}", script.join("; "));
    // As many CPUs as the examples name.
    runs(&format!("swtch vm --cpus 6{copies} -- sh -c '{script}'"), home);
}

fn runs(example: &str, home: &Path) {
    if let Some(why) =
        without_bpf().filter(|_| example.contains("--keep") || example.starts_with("swtch dump"))
    {
        return skip(example, &why);
    }
    if example.starts_with("swtch book") && !book_is_built() {
        return skip(example, "the book is not built; make book builds it");
    }
    if let Some(why) = needs_a_build(example) {
        return skip(example, why);
    }
    if example.starts_with("swtch probe") && !is_root() {
        return skip(example, "only root has the real-time class for certain");
    }
    let command = made_short(example);
    // What reads the output may not be installed.
    let command = command.split(" | jq ").next().unwrap().split(" | man ").next().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_swtch")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let began = Instant::now();
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .env("PATH", path)
        .env("HOME", home)
        .env("XDG_STATE_HOME", home)
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("vm-cache"))
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{example}: {}", stderr(&output));
    println!("{:.1} s: {example}", began.elapsed().as_secs_f64());
}

/// What would compile for minutes, or fetch whole kernels.
fn needs_a_build(example: &str) -> Option<&'static str> {
    if example.starts_with("swtch sched get ") && !example.contains("--list") {
        return Some(
            "it builds a scheduler; a_scheduler_of_the_registry_is_built_once_and_found_by_its_name has a quick cargo",
        );
    }
    if example.starts_with("swtch sched bisect")
        || ["--sched beerland", "scx_bpfland-"].iter().any(|word| example.contains(word))
    {
        return Some("it needs schedulers of Cargo's registry, which take minutes to build");
    }
    if example.starts_with("swtch sweep run") && !example.contains("--on here") && example.contains("--on ") {
        return Some("it needs an engine; python/tests/test_sweep_engines.py runs real ones");
    }
    if example.contains("s3://") {
        return Some("it needs an object store; python/tests/test_sweep_store.py has one");
    }
    if example.contains("--arch arm64") || example.contains("--arch riscv64") {
        return Some(
            "it needs programs for aarch64 or riscv64; architectures::a_riscv_guest_runs_programs_of_its_own_under_our_scheduler and its neighbours boot such guests",
        );
    }
    example.contains("--kernel 6.12").then_some("it fetches kernels of 35 MB each")
}

/// Whether there is a book where the program under test looks for it.
fn book_is_built() -> bool {
    Path::new(env!("CARGO_BIN_EXE_swtch")).with_file_name("../book/index.html").is_file()
}

/// The examples of the help of every command.
pub fn of_help(home: &Path) -> Vec<String> {
    let top = stdout(&run(swtch(home).arg("--help")));
    let mut all = examples(&top);
    for command in [
        "doctor",
        "measure",
        "record",
        "top",
        "serve",
        "dump",
        "why",
        "compare",
        "check",
        "try",
        "report",
        "export",
        "import",
        "simulate",
        "shares",
        "schema",
        "vm",
        "sched",
        "completions",
        "man",
        "explain",
        "book",
    ] {
        assert!(top.contains(&format!("  {command} ")), "{command} is not in {top}");
        let help = stdout(&run(swtch(home).args([command, "--help"])));
        let found = examples(&help);
        assert!(!found.is_empty(), "'swtch {command} --help' has no example: {help}");
        all.extend(found);
    }
    all.extend(examples(&stdout(&run(swtch(home).args(["sched", "compare", "--help"])))));
    all
}

/// The commands in the documents.
pub fn of_documents() -> Vec<String> {
    let named = ["README.md", "method.md", "formats.md", "commands.md", "simulate.md", "sched.md"];
    let mut documents: Vec<PathBuf> = named.iter().map(|name| docs().join(name)).collect();
    documents[0] = docs().join("../README.md");
    documents.extend(guides());
    let all = documents.iter().flat_map(|document| commands(&fs::read_to_string(document).unwrap()));
    let mut seen = std::collections::HashSet::new();
    all.filter(|command| command.starts_with("swtch "))
        // Those of the Python package run with its tests.
        .filter(|command| !command.starts_with("swtch ai ") && !command.starts_with("swtch faas "))
        // In their order: what one writes, another may read.
        .filter(|command| seen.insert(command.clone()))
        .collect()
}

pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Tutorials, how-tos, explanations and what is off in the simulator: pages whose shown output is checked.
pub fn guides() -> Vec<PathBuf> {
    let mut pages =
        ["limits.md", "simulate.md", "results/simulator.md"].map(|page| docs().join(page)).to_vec();
    for directory in ["tutorials", "howto", "explanations"] {
        let listed = fs::read_dir(docs().join(directory)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(listed.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    pages.sort();
    pages
}
