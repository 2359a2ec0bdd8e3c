//! Every example in a command's `--help` and in the documents runs.

use crate::common::{fixture, home, is_root, run, skip, stderr, stdout, swtch};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The examples of a help text: indented lines that begin with the program's name, less the remark after two blanks.
fn examples(help: &str) -> Vec<String> {
    help.lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| rest.starts_with("swtch ")))
        .map(|line| line.split("  ").next().unwrap_or(line).trim().to_owned())
        .collect()
}

/// The commands of a document: lines `$ swtch ...` in its code blocks.
fn commands(document: &str) -> Vec<String> {
    document.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

const PIPELINE: &str = "machine = 4\npolicies = [\"eevdf\", \"rr\"]\n[[task]]\nname = \"a\"\nprogram = \"loop 9 { compute 1ms; sleep 1ms }\"\n";
const GRID: &str = "machines = [4]\npolicies = [\"eevdf\"]\nworkloads = [\"spin:work_ns=1ms\"]\n";
const RT_APP: &str = r#"{ "tasks": { "worker": { "loop": 10, "run": 1000, "sleep": 500 } } }"#;

/// A home with what the examples name: profiles of other machines, one of this machine, and Traces.
fn furnished() -> crate::common::Home {
    let home = home();
    for (name, source) in
        [("board", "vm"), ("server", "server"), ("last-week", "vm"), ("before", "vm"), ("after", "server")]
    {
        let source = fixture(&format!("profiles/{source}.json"));
        fs::copy(source, home.path().join(format!("{name}.json"))).unwrap();
    }
    for (name, source) in [("before", "machine"), ("after", "procfs")] {
        let folder = home.path().join(format!("{name}.swtch"));
        fs::create_dir(&folder).unwrap();
        for file in fs::read_dir(fixture(&format!("traces/{source}.swtch"))).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
    for name in ["cloud", "edge"] {
        fs::create_dir(home.path().join(name)).unwrap();
        let source = fixture(&format!("studies/{name}/study.json"));
        fs::copy(source, home.path().join(name).join("study.json")).unwrap();
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
    fs::write(home.path().join("pipeline.toml"), PIPELINE).unwrap();
    fs::write(home.path().join("grid.toml"), GRID).unwrap();
    fs::write(home.path().join("board.rt.json"), RT_APP).unwrap();
    fs::write(home.path().join("Makefile"), "all:\n\t@sleep 0.1\n").unwrap();
    let server = home.path().join("server");
    fs::write(&server, "#!/bin/sh\nsleep 0.1\n").unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    // A Trace, and the text that it was made of.
    fs::copy(fixture("imports/ftrace.txt"), home.path().join("trace.txt")).unwrap();
    let imported = run(swtch(home.path()).args(["import", "trace.txt", "-o", "run.swtch"]));
    assert!(imported.status.success(), "{}", stderr(&imported));
    home
}

/// The example as it stands, but with a second to measure instead of a minute, and of a process and a control group that are there.
fn made_short(example: &str) -> String {
    match example.strip_prefix("swtch measure") {
        Some(rest) if !rest.contains("--with") => return format!("swtch measure --time-limit 1s{rest}"),
        _ => {}
    }
    if example.starts_with("swtch vm ") && example.ends_with("-- swtch measure --quick") {
        // Two boots that count instructions take a minute; that they agree is tested elsewhere.
        return example.replace("--deterministic ", "") + " --method pipe --time-limit 5s";
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
    // Without a terminal it would go on for ever.
    let ends = ["--once", "-n "].iter().any(|option| example.contains(option));
    let example = match example.strip_prefix("swtch top") {
        Some(rest) if !ends => &format!("swtch top -n 1{rest}"),
        _ => example,
    };
    let durations = ["--duration 10s", "--duration 30s", "--duration 1m"];
    let short = durations.iter().fold(example.to_owned(), |text, long| text.replace(long, "--duration 1s"));
    short.replace("-p 1234", &format!("-p {}", std::process::id())).replace("/system.slice/web.service", "/")
}

/// Whether this example loads a scheduler: then it runs in a guest.
fn loads(example: &str) -> bool {
    let word = example.strip_prefix("swtch sched ").and_then(|rest| rest.split(' ').next());
    let asks = ["list", "status", "compare"].contains(&word.unwrap_or("list"));
    !asks && !example.contains("--help")
}

/// Runs examples that load a scheduler, in one guest, each for a second, on a process and a control group that are there.
fn runs_in_guest(examples: &[String], home: &Path) {
    let script: Vec<String> = examples
        .iter()
        .map(|example| {
            example.replace("$(pidof server)", "$$").replace("/batch.slice", "").replace("--for 60s", "")
        })
        .map(|example| format!("{example} --for 1s"))
        .collect();
    let bin = Path::new(env!("CARGO_BIN_EXE_swtch")).parent().unwrap();
    if examples.is_empty() || without_vm("swtch vm ") {
        return;
    }
    let mut copies = String::new();
    for scheduler in ["scx_flsched", "scx_fair"] {
        let path = bin.join(scheduler);
        if !path.is_file() {
            skip(&examples.join(", "), &format!("{scheduler} is not built"));
            return;
        }
        copies.push_str(&format!(" --copy {}", path.display()));
    }
    let script = format!("set -e; {}", script.join("; "));
    // As many CPUs as the examples name.
    runs(&format!("swtch vm --cpus 6{copies} -- sh -c '{script}'"), home);
}

/// Whether this is an example for a virtual machine and there is none; says so.
fn without_vm(example: &str) -> bool {
    let without = (example.starts_with("swtch vm ") || example.starts_with("swtch sched compare --vm"))
        && (cfg!(not(target_arch = "x86_64"))
            || Command::new("qemu-system-x86_64").arg("--version").output().is_err());
    if without {
        skip(example, "QEMU for x86-64 is not installed");
    }
    without
}

fn runs(example: &str, home: &Path) {
    if without_vm(example) {
        return;
    }
    let command = made_short(example);
    let command = command.split(" | jq ").next().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_swtch")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .env("PATH", path)
        .env("XDG_STATE_HOME", home)
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("vm-cache"))
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{example}: {}", stderr(&output));
}

#[test]
fn the_examples_of_every_help_text_run() {
    let home = furnished();
    let top = stdout(&run(swtch(home.path()).arg("--help")));
    let mut all = examples(&top);
    for command in [
        "doctor", "measure", "record", "top", "serve", "report", "export", "import", "simulate", "shares",
        "schema", "vm", "sched",
    ] {
        assert!(top.contains(&format!("  {command} ")), "{command} is not in {top}");
        let help = stdout(&run(swtch(home.path()).args([command, "--help"])));
        let found = examples(&help);
        assert!(!found.is_empty(), "'swtch {command} --help' has no example: {help}");
        all.extend(found);
    }
    all.extend(examples(&stdout(&run(swtch(home.path()).args(["sched", "compare", "--help"])))));
    let (in_guest, here): (Vec<String>, Vec<String>) = all.into_iter().partition(|example| loads(example));
    for example in here {
        runs(&example, home.path());
    }
    runs_in_guest(&in_guest, home.path());
}

#[test]
fn the_commands_in_the_documents_run() {
    let home = furnished();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    let mut in_guest = Vec::new();
    for document in [
        "README.md",
        "docs/method.md",
        "docs/formats.md",
        "docs/commands.md",
        "docs/simulate.md",
        "docs/sched.md",
    ] {
        for command in commands(&fs::read_to_string(root.join(document)).unwrap()) {
            if loads(&command) {
                in_guest.push(command);
            } else if command.starts_with("swtch ") {
                runs(&command, home.path());
                count += 1;
            }
        }
    }
    runs_in_guest(&in_guest, home.path());
    assert!(count >= 5, "only {count} commands found in the documents");
}
