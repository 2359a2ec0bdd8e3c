"""What is typed: every example runs, and everything wrong is one line."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command_examples import GUIDES, all_examples, installed
from faas_host import OWN, ROOT, STUB, leaves_no_groups, needs_groups, tiers_file

import swtch
import swtch.faas
from swtch import _cgroup as cgroup
from swtch._errors import CommandError
from swtch.faas import access, frameworks, languages, load, own, platforms, runner, serve, tiers
from swtch.faas.command import _parser, main
from swtch.faas.invoke import Reply
from swtch.faas.server import Server

FUNCTIONS = [
    path for path in sorted((ROOT / "functions").rglob("README.md")) if "node_modules" not in path.parts
]
DOCUMENTS = [ROOT / "docs" / "faas.md", *FUNCTIONS, *GUIDES]
RESPONSE = json.loads((Path(__file__).with_name("response.json")).read_text())


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A directory to be in, with what examples name."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "made-up")
    for name in ("event.json", "my-event.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "my_module.py").write_text("def my_function(event, context):\n    return event\n")
    tiers_file(tmp_path, (128, 0.5)), os.rename("tiers.json", "my-tiers.json")
    shutil.copy(ROOT / "python/swtch/faas/prices/gcf-1.json", "my-prices.json")
    for name in ("before", "after", "local", "deployed"):
        shutil.copytree(ROOT / "fixtures/faas/gcf", name)
    shutil.copy(ROOT / "fixtures/faas/rust.json", "answer.json")
    with leaves_no_groups():
        yield


@pytest.mark.parametrize("example", all_examples("swtch faas", _parser(), DOCUMENTS, 21))
def test_every_example_runs(example, tmp_path, monkeypatch, capsys):
    """Everything but the functions themselves: those would take hours."""
    # Ten invocations of each kind instead of hundreds, none of which is worth the disk's time.
    words = shlex.split(re.sub(r"--runs \d+", "--runs 10", example))[2:]
    monkeypatch.setattr(tiers, "REPEATS", 10)
    monkeypatch.setattr(os, "fsync", lambda fd: None)

    def answer(self, body, limit_s):
        return answered(body), None

    class Instead(runner.Place):
        def __init__(self, name, command, warm_up, plan, tier, stack, over_http=False):
            self.group = cgroup.Group(Path("/nowhere"), 1, None)
            self.failures = 0

        def ready(self):
            pass

        end_unless_ready = ready

        def invoke_beside_others(self, body, limit_s):
            return answered(body)

        invoke = answer

        def start_cold(self, body, limit_s):
            return answered(body), {"runtime_ns": 20_000_000, "init_ns": 30_000_000}

    monkeypatch.setattr(runner, "Place", Instead)
    monkeypatch.setattr(
        runner.load, "run", lambda callers, n, rate: [load.Answered(callers[0](), 0) for _ in range(n)]
    )
    monkeypatch.setattr(own.OwnFunction, "command", lambda self: languages.Command(("true",)))
    monkeypatch.setattr(access, "invoke", lambda url, body, limit_s, headers: answered(body))
    monkeypatch.setattr(access.Bearer, "fetch", lambda self: setattr(self, "token", "one"))
    monkeypatch.setattr(Server, "start", lambda self, limit_s=0: None)
    monkeypatch.setattr(Server, "invoke", lambda self, body, limit_s: answered(body))
    for module in (languages, runner):
        monkeypatch.setattr(module, "server", lambda *words: languages.Command(("true",)), raising=False)
    monkeypatch.setattr("swtch.faas.measure.server", lambda *words: languages.Command(("true",)))
    monkeypatch.setattr(serve, "_wait", interrupt)
    without_tools(monkeypatch, tmp_path)
    if "--resume" in words:
        begun = words[words.index("--resume") + 1]
        main(["tiers", "--quick", "--runs", "1", "--work", "1ms", "--out", begun])
        capsys.readouterr()
    status = main(words)
    out, err = capsys.readouterr()
    assert status == (130 if words[0] == "serve" else 0), err
    assert out.strip() or words[0] == "serve"


def answered(body):
    """The answer that tests make up, with the iterations that were asked for."""
    document = json.loads(json.dumps(RESPONSE))
    iterations = json.loads(body).get("iterations")
    if iterations:
        document["work"] = {
            "asked_ms": 1,
            "wall_ns": 20_000_000,
            "cpu_ns": 20_000_000,
            "iterations": iterations,
        }
    return Reply("complete", 20_000_000, None, document)


def interrupt(*words):
    raise KeyboardInterrupt


def without_tools(monkeypatch, directory):
    """Compilers and package managers make what they would, in no time; every program is one that does nothing."""
    made = directory / "made"

    def make(recipe):
        manifest = json.loads(
            (languages.directory(recipe.name.split("-")[0]) / platforms.MANIFEST).read_text()
        )
        for name in re.findall(r"\{built\}/([\w./-]+)", json.dumps(manifest)):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                (made / name).write_text("#!/bin/sh\n")
                (made / name).chmod(0o755)
        return made

    monkeypatch.setattr(platforms, "made", make)
    monkeypatch.setattr(platforms, "tool", lambda name, doing: "true")
    monkeypatch.setattr(frameworks, "ready", lambda *words: {"python": "true", "framework": str(made)})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "required"),
        ("sing", "invalid choice"),
        ("tiers --work 0s", "is not a time above 0"),
        ("tiers --work 1h", "is more than the 900 s that a handler works"),
        ("tiers --work soon", "is not a time above 0"),
        ("tiers --period 2s", "is not a period that the kernel takes, 1ms to 1s"),
        ("tiers --period 100us", "is not a period that the kernel takes, 1ms to 1s"),
        ("tiers --period 5ms", "128 MB would have 0.362 ms in each 5 ms, and the kernel's smallest quota is 1 ms (below it answers EINVAL); give --period 14ms or longer"),
        ("tiers --runs 0", "is not a whole number from 1"),
        ("tiers --tiers gcf-7", "there is no set of tiers gcf-7"),
        ("tiers --tiers event.json", "event.json has no tiers: 'tiers' is missing"),
        ("tiers --tiers knative:256Mi", "'256Mi' is not a CPU limit and a memory limit, such as knative:500m/256Mi"),
        ("tiers --tiers openfaas:1/1Gi,1/1Gi", "has the same limits twice"),
        ("tiers --cold-starts few", "is not a number of starts, 0 to 999"),
        ("tiers --burst soon", "is not a time above 0"),
        ("tiers --invoke http://x/ --burst 1ms", "--burst is for functions on this machine"),
        ("tiers --sigv4", "--sigv4 "),
        ("tiers --header X:y", "--header is for deployed functions; give --invoke too"),
        ("tiers --tiers my_module.py", "is not JSON"),
        ("tiers --price-table gold", "there is no price table 'gold'; give azure-consumption"),
        ("tiers --price-table event.json", "event.json is not a price table such as"),
        ("tiers --language cobol", "'cobol' is not one of python, node, go, java"),
        ("tiers --language python,node --handler a:b", "--handler is in one language; give one --language, or none"),
        ("tiers --handler a:b --invoke http://x/", "--handler and --invoke exclude each other"),
        ("tiers --language python --command x", "--command and --language exclude each other"),
        ("tiers --handler a:b --path /x", "--path is for what answers HTTP; give --command or --image too"),
        ("tiers --requests 5", "--requests is for invocations under load; give --rate or --concurrency too"),
        ("tiers --rate 0", "'0' is not a number of requests a second, above 0 and up to 10000"),
        ("tiers --tiers lambda:99999", "'99999' is not a tier of lambda in MB; it has 128 to 10240"),
        ("tiers --tiers gcf-1:300", "'300' is not a tier of gcf-1 in MB; it has 128, 256, 512, 1024, 2048"),
        ("tiers --handler my_module", "is not MODULE:FUNCTION"),
        ("tiers --handler a:b --work 1ms", "--work is for the project's handler"),
        ("tiers --event event.json", "--event is for your own function"),
        ("tiers --handler a:b --event nothing.json", "the event nothing.json cannot be read"),
        ("tiers --handler a:b --event my_module.py", "the event my_module.py is not JSON"),
        ("tiers --invoke ftp://x/", "is not a URL that can be invoked"),
        ("tiers --invoke http://x/ --period 20ms", "--period is for functions on this machine"),
        ("tiers --resume nowhere", "there is nothing to resume in nowhere"),
        ("measure cobol", "invalid choice"),
        ("measure --memory 100", "lambda has no tier of 100 MB on this machine; it has 128"),
        ("measure --memory lots", "is not a whole number of MB"),
        ("serve python", "required: --platform"),
        ("serve python --platform azure", "invalid choice"),
        ("serve python --platform gcf --port 99999", "is not a port"),
        ("package python -o x.zip", "required: --platform"),
        ("package python --platform lambda", "required: -o/--out"),
        ("package go --platform lambda --architecture vax -o x.zip", "invalid choice"),
        ("package go --platform gcf --architecture arm64 -o x.zip", "--architecture is for handlers that are compiled for one machine; go for gcf runs on any"),
    ],
)  # fmt: skip
def test_wrong_usage_is_two_and_says_what_would_be_right(words, said, tmp_path, capsys):
    before = sorted(tmp_path.iterdir())
    try:
        status = main(shlex.split(words))
    except SystemExit as ended:
        status = ended.code
    err = capsys.readouterr().err
    assert (status, said in err) == (2, True), err
    assert err.count("\n") == 1
    # Nothing was begun.
    assert sorted(tmp_path.iterdir()) == before


def test_a_saved_answer_is_read(capsys, monkeypatch):
    assert main(["read", "answer.json"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"Quota seen from inside: 8\.3\d* ms \(8\.\d+ ms to 8\.\d+ ms\) in each 100(\.\d)? ms", out
    ), out
    assert re.search(r"^pipe +\d+ +\d+ to \d+", out, re.MULTILINE), out
    monkeypatch.setattr(sys, "stdin", Path("answer.json").open())
    assert main(["read", "-", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["throttling"]["inferred"]["quota_ns"] == pytest.approx(8.333e6, rel=0.005)
    assert "batches_ns" not in document["measurements"][0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "bad.json cannot be read: No such file or directory"),
        (b"\xff\xfe", "bad.json cannot be read: it is not text"),
        (b"{", "bad.json is not JSON"),
        (b"[1]", "bad.json is not the answer of a handler: it has no schema"),
        (b'{"schema": "swtch/faas/9"}', "it has the schema 'swtch/faas/9'"),
        (b'{"schema": "swtch/faas/2", "measurements": 7}', "bad.json is not the answer of a handler"),
    ],
)
def test_what_is_no_answer_is_one_line(text, said, tmp_path, capsys):
    if text is not None:
        (tmp_path / "bad.json").write_bytes(text)
    assert main(["read", "bad.json"]) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1, err


def test_an_unreachable_url_is_one_line(capsys):
    assert main(["tiers", "--invoke", "http://127.0.0.1:9/"]) == 1
    err = capsys.readouterr().err
    assert (
        "http://127.0.0.1:9/: cannot be reached (Connection refused); is it running, and is the address right?"
        in err
    )
    assert err.count("\n") == 1
    assert main(["tiers", "--invoke", "http://no-such-host.invalid/"]) == 1
    assert "its host is unknown" in capsys.readouterr().err


def test_without_control_groups_it_says_what_it_takes(monkeypatch, capsys):
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(STUB))
    monkeypatch.setattr(cgroup, "hierarchies", lambda root=None: [])
    assert main(["tiers", "--quick", "--out", "out"]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert re.match(
        r"swtch faas: cannot apply the tier (\d+ MB|unthrottled): no cgroups are mounted here", err
    )
    # What needs none works.
    assert main(["measure"]) == 0
    assert "pipe" in capsys.readouterr().out


AS_NOBODY = """\
import os, sys
# All of it is read while it may be: the interpreter's own modules may lie where only root can look.
from swtch.faas.command import main
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    os.environ["HOME"] = "/nonexistent"
sys.exit(main(["tiers", "--quick", "--out", sys.argv[1]]))
"""
"""`swtch faas tiers` of a user who may make no cgroup: the one that runs the tests, or, for root, the user `nobody`."""


@pytest.fixture
def for_everybody():
    """A directory with a copy of the package and of the small function that every user can read, and in which every user can write."""
    with tempfile.TemporaryDirectory(prefix="swtch-faas-test-", dir="/tmp") as name:
        directory = Path(name)
        shutil.copytree(
            Path(swtch.__file__).parent, directory / "swtch", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copytree(STUB, directory / "functions", ignore=shutil.ignore_patterns("__pycache__"))
        for path in directory.rglob("*"):
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        directory.chmod(0o777)
        yield directory


def test_without_permission_it_says_what_it_takes(for_everybody):
    if os.geteuid() == 0:
        # Where root cannot either, something else than permission is missing.
        needs_groups()
    else:
        with cgroup.group(runner.PROGRAM, "probe", cgroup.Limits(quota_us=10_000)) as group:
            if group.directory is not None or not cgroup.hierarchies():
                pytest.skip("this user may make cgroups, or there are none")
    environment = {
        **os.environ,
        "PYTHONPATH": str(for_everybody),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SWTCH_FUNCTIONS": str(for_everybody / "functions"),
    }
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(for_everybody / "out")],
        env=environment,
        capture_output=True,
        text=True,
        cwd=for_everybody,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert "cannot apply the tier" in last and "Permission denied" in last, done.stderr
    assert "run as root, or in a cgroup that is delegated to this user" in last
    assert "Traceback" not in done.stderr


def test_the_handlers_have_to_be_here(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(tmp_path / "nowhere"))
    assert main(["measure"]) == 1
    assert "SWTCH_FUNCTIONS names" in capsys.readouterr().err
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(tmp_path))
    assert main(["package", "go", "--platform", "gcf", "-o", "x.zip"]) == 1
    assert "there is no handler in go" in capsys.readouterr().err


def test_a_platforms_framework_has_to_be_there(capsys):
    needs_groups()
    if not (ROOT / "functions/python/deploy").is_dir():
        pytest.skip("the handler is not here")
    assert main(["serve", "python", "--platform", "gcf", "--python", "/bin/false"]) == 1
    err = capsys.readouterr().err
    assert (
        "gcf needs functions_framework, which /bin/false does not have; /bin/false -m pip install -r" in err
    )
    assert err.count("\n") == 1


def test_own_functions_are_found_in_the_current_directory(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(STUB))
    command = languages.server("python", "own:fine")
    assert command.environment["PYTHONPATH"].split(os.pathsep)[:2] == [str(tmp_path), str(STUB / "python")]
    assert command.words[1:] == ("-m", "swtch_function", "--handler", "own:fine")


def test_the_installation_brings_the_program():
    assert installed("swtch-faas") is main


@pytest.mark.parametrize("name", sorted(one.name for one in pkgutil.iter_modules(swtch.faas.__path__)))
def test_examples_in_the_documentation_of_modules_run(name):
    assert doctest.testmod(importlib.import_module(f"swtch.faas.{name}")).failed == 0


def test_a_group_that_cannot_be_is_an_error_of_the_command():
    with pytest.raises(CommandError, match="there is no price table"):
        from swtch.faas.price import find

        find("nothing")
