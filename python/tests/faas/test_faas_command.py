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
from pathlib import Path

import pytest
from faas_host import OWN, ROOT, STUB, groups_left, needs_groups, tiers_file

import swtch.faas
from swtch import _cgroup as cgroup
from swtch._errors import CommandError
from swtch.faas import frameworks, languages, platforms, runner, serve, tiers
from swtch.faas.command import _parser, main
from swtch.faas.invoke import Reply
from swtch.faas.server import Server

DOCUMENTS = [ROOT / "docs" / "faas.md", *sorted((ROOT / "functions").rglob("README.md"))]
RESPONSE = json.loads((Path(__file__).with_name("response.json")).read_text())


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder to be in, with what examples name."""
    monkeypatch.chdir(tmp_path)
    for name in ("event.json", "my-event.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "my_module.py").write_text("def my_function(event, context):\n    return event\n")
    tiers_file(tmp_path, (128, 0.5)), os.rename("tiers.json", "my-tiers.json")
    shutil.copy(ROOT / "python/swtch/faas/prices/gcf-1.json", "my-prices.json")
    yield
    assert groups_left() == []


def examples(text):
    """The commands of a help text or a document: lines that begin with `swtch faas`, or `$ swtch faas`, less the remark after two blanks."""
    lines = (line.strip().removeprefix("$ ") for line in text.splitlines())
    return [line.split("  ")[0].strip() for line in lines if line.startswith("swtch faas ")]


def helps():
    """The help texts of the command and of all its own."""
    yield _parser().format_help()
    for action in _parser()._subparsers._group_actions:
        for one in action.choices.values():
            yield one.format_help()


def all_examples():
    texts = [*helps(), *(path.read_text() for path in DOCUMENTS if "node_modules" not in path.parts)]
    found = [example for text in texts for example in examples(text)]
    assert len(set(found)) > 20
    return sorted(set(found))


@pytest.mark.parametrize("example", all_examples())
def test_every_example_runs(example, tmp_path, monkeypatch, capsys):
    """Everything but the functions themselves: those would take hours."""
    words = shlex.split(example)[2:]
    # Thousands of invocations, none of which is worth the disk's time.
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    if "--resume" in words:
        main(
            [
                "tiers",
                "--quick",
                "--repeats",
                "1",
                "--work",
                "1ms",
                "--out",
                words[words.index("--resume") + 1],
            ]
        )
        capsys.readouterr()

    def answer(self, body, limit_s):
        return Reply("complete", 20_000_000, None, json.loads(json.dumps(RESPONSE))), None

    class Instead(runner.Place):
        def __init__(self, name, command, warm_up, plan, tier, stack):
            self.group = cgroup.Group(Path("/nowhere"), 1, None)
            self.failures = 0

        invoke = answer

    monkeypatch.setattr(runner, "Place", Instead)
    reply = Reply("complete", 1_000_000, None, RESPONSE)
    for module in (tiers, runner):
        monkeypatch.setattr(module, "invoke", lambda url, body, limit_s: reply)
    monkeypatch.setattr("swtch.faas.measure.invoke", lambda url, body, limit_s: reply)
    monkeypatch.setattr(Server, "start", lambda self, limit_s=0: setattr(self, "url", "http://127.0.0.1:1/"))
    for module in (languages, runner):
        monkeypatch.setattr(module, "server", lambda *words: languages.Command(("true",)), raising=False)
    monkeypatch.setattr("swtch.faas.measure.server", lambda *words: languages.Command(("true",)))
    monkeypatch.setattr(serve, "_wait", interrupt)
    without_tools(monkeypatch, tmp_path)
    status = main(words)
    out, err = capsys.readouterr()
    assert status == (130 if words[0] == "serve" else 0), err
    assert out.strip() or words[0] == "serve"


def interrupt(*words):
    raise KeyboardInterrupt


def without_tools(monkeypatch, folder):
    """Compilers and package managers make what they would, in no time; every program is one that does nothing."""
    made = folder / "made"

    def make(recipe):
        manifest = json.loads((languages.folder(recipe.name.split("-")[0]) / platforms.MANIFEST).read_text())
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
        ("tiers --work 0s", "is no time above 0"),
        ("tiers --work 1h", "is more than the 900 s that a handler works"),
        ("tiers --work soon", "is no time above 0"),
        ("tiers --period 2s", "is no period that the kernel takes, 1ms to 1s"),
        ("tiers --period 100us", "is no time above 0"),
        ("tiers --period 5ms", "128 MB would have 0.417 ms in each 5 ms, and the kernel's smallest quota is 1 ms (below it answers EINVAL); give --period 12ms or longer"),
        ("tiers --repeats 0", "is no whole number from 1"),
        ("tiers --tiers gcf-7", "there are no tiers gcf-7"),
        ("tiers --tiers event.json", "event.json has no tiers: 'tiers' is missing"),
        ("tiers --tiers my_module.py", "is no JSON"),
        ("tiers --price gold", "there are no prices 'gold'; there are azure-consumption"),
        ("tiers --price event.json", "event.json has no prices as"),
        ("tiers --language cobol", "'cobol' is none of python, node, go, java"),
        ("tiers --language python --handler a:b", "--language and --handler exclude each other"),
        ("tiers --handler my_module", "is no MODULE:FUNCTION"),
        ("tiers --handler a:b --work 1ms", "--work is for the project's handler"),
        ("tiers --event event.json", "--event is for a function of yours"),
        ("tiers --handler a:b --event nothing.json", "the event nothing.json cannot be read"),
        ("tiers --handler a:b --event my_module.py", "the event my_module.py is no JSON"),
        ("tiers --invoke ftp://x/", "is no URL that can be invoked"),
        ("tiers --invoke http://x/ --period 20ms", "--period is for functions on this machine"),
        ("tiers --resume nowhere", "there is nothing to resume in nowhere"),
        ("measure cobol", "invalid choice"),
        ("measure --memory 100", "gcf-1 has no tier of 100 MB on this machine; it has 128"),
        ("measure --memory lots", "is no whole number of MB"),
        ("serve python", "required: --platform"),
        ("serve python --platform azure", "invalid choice"),
        ("serve python --platform gcf --port 99999", "is no port"),
        ("package python -o x.zip", "required: --platform"),
        ("package python --platform lambda", "required: -o/--out"),
        ("package go --platform lambda --architecture vax -o x.zip", "invalid choice"),
        ("package go --platform gcf --architecture arm64 -o x.zip", "--architecture is for what is compiled for one machine; go for gcf runs on any"),
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


def test_an_unreachable_url_is_one_line(capsys):
    assert main(["tiers", "--invoke", "http://127.0.0.1:9/"]) == 1
    err = capsys.readouterr().err
    assert (
        "http://127.0.0.1:9/: cannot be reached (Connection refused); is it running, and is the address right?"
        in err
    )
    assert err.count("\n") == 1
    assert main(["tiers", "--invoke", "http://no-such-host.invalid/"]) == 1
    assert "its host is not known" in capsys.readouterr().err


def test_without_control_groups_it_says_what_it_takes(monkeypatch, capsys):
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(STUB))
    monkeypatch.setattr(cgroup, "hierarchies", lambda root=None: [])
    assert main(["tiers", "--quick", "--out", "out"]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert re.match(
        r"swtch faas: (\d+ MB|unthrottled) cannot be a tier: no control groups are mounted here", err
    )
    # What needs none works.
    assert main(["measure"]) == 0
    assert "pipe" in capsys.readouterr().out


def test_without_permission_it_says_what_it_takes(capsys):
    if os.geteuid() != 0:
        pytest.skip("not root: nobody to become")
    code = (
        "import os, sys; os.setgid(65534); os.setuid(65534); sys.argv = ['faas', 'tiers', '--quick', '--out', sys.argv[1]];"
        "from swtch.faas.command import main; sys.exit(main())"
    )
    path = os.pathsep.join(one for one in sys.path if one)
    environment = {**os.environ, "PYTHONPATH": path, "SWTCH_FUNCTIONS": str(STUB), "HOME": "/nonexistent"}
    folder = Path("/tmp") / f"swtch-faas-test-{os.getpid()}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, text=True, cwd="/"
    )
    shutil.rmtree(folder, ignore_errors=True)
    if "Permission denied" not in done.stderr or "cannot be a tier" not in done.stderr:
        pytest.skip(f"the user nobody cannot read the package here: {done.stderr.strip().splitlines()[-1:]}")
    assert done.returncode == 1
    assert "it takes root, or a group that was given to this user" in done.stderr.splitlines()[-1]


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
    assert "gcf needs functions_framework, which /bin/false has not; /bin/false -m pip install -r" in err
    assert err.count("\n") == 1


def test_own_functions_are_found_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(STUB))
    command = languages.server("python", "own:fine")
    assert command.environment["PYTHONPATH"].split(os.pathsep)[:2] == [str(tmp_path), str(STUB / "python")]
    assert command.words[1:] == ("-m", "swtch_function", "--handler", "own:fine")


def test_the_installation_brings_the_program():
    entry = re.search(r'^swtch-faas = "([\w.]+):(\w+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert entry is not None
    assert getattr(importlib.import_module(entry[1]), entry[2]) is main


@pytest.mark.parametrize("name", sorted(one.name for one in pkgutil.iter_modules(swtch.faas.__path__)))
def test_examples_in_the_documentation_of_modules_run(name):
    assert doctest.testmod(importlib.import_module(f"swtch.faas.{name}")).failed == 0


def test_a_group_that_cannot_be_is_an_error_of_the_command():
    with pytest.raises(CommandError, match="there are no prices"):
        from swtch.faas.price import find

        find("nothing")
