"""Handlers that are compiled or installed on demand, by tools that are made up: the real ones are tried in `tests/functions`."""

from __future__ import annotations

import os
import shutil
import sys
import time

import pytest
from faas_host import ROOT

from swtch._errors import CommandError
from swtch.faas import builds, directories, frameworks
from swtch.faas.command import main
from swtch.faas.languages import server
from swtch.faas.platforms import Platform

# Counts how often it is run, and makes what its arguments name: `go build -o PLACE`, `mvn -Dbuilt=DIRECTORY`, `npm ci` in the directory.
TOOL = """\
#!/bin/sh
echo "$PWD $*" >> "$RUNS"
for word; do
    case $before in -o) echo program > "$word"; chmod 755 "$word";; esac
    case $word in -Dbuilt=*)
        cd "${word#-Dbuilt=}"
        mkdir -p swtch-function swtch-function-lambda/lib swtch-function-gcf
        echo jar | tee swtch-function/swtch-function-0.1.0.jar swtch-function-gcf/swtch-function-gcf-0.1.0.jar \\
            swtch-function-lambda/swtch-function-lambda-0.1.0.jar swtch-function-lambda/lib/aws-lambda-java-core-1.4.0.jar > /dev/null;;
    esac
    before=$word
done
[ "$1" != ci ] || { [ -f package-lock.json ] && mkdir -p node_modules; }
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A directory on PATH with such tools, an empty cache, and a file with the runs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    monkeypatch.setenv("RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("THEIRS", "")
    for name in ("go", "mvn", "java", "npm", "node"):
        tool(directory, name, TOOL)
    return directory


def tool(directory, name, text):
    (directory / name).write_text(text)
    (directory / name).chmod(0o755)


def runs(tmp_path):
    path = tmp_path / "runs"
    return path.read_text().splitlines() if path.exists() else []


def test_what_is_compiled_is_compiled_once_and_not_beside_its_sources(tools, tmp_path, monkeypatch, capsys):
    copy = tmp_path / "functions"
    shutil.copytree(ROOT / "functions" / "go", copy / "go")
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(copy))
    before = sorted(copy.rglob("*"))
    words = ["package", "go", "--platform", "lambda", "-o", str(tmp_path / "x.zip")]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert said.startswith("swtch faas: compiling the handler in Go with go, once, into ")
    assert str(tmp_path / "cache") in said and said.count("\n") == 1
    assert main(words) == 0
    assert capsys.readouterr().err == "" and len(runs(tmp_path)) == 1
    assert sorted(copy.rglob("*")) == before
    # No sources; other sources, another compiler, another machine.
    (copy / "go" / "README.md").write_text("")
    assert main(words) == 0 and len(runs(tmp_path)) == 1
    (copy / "go" / "work" / "work.go").write_text("package work\n")
    assert main(words) == 0 and len(runs(tmp_path)) == 2
    tool(tools, "go", TOOL + "# newer\n")
    assert main(words) == 0 and len(runs(tmp_path)) == 3
    other = "arm64" if Platform("go", "lambda").architecture == "amd64" else "amd64"
    assert main([*words, "--architecture", other]) == 0 and len(runs(tmp_path)) == 4
    assert not list((tmp_path / "cache").rglob("*unfinished*"))


def test_all_of_java_is_one_build(tools, tmp_path):
    for platform in ("lambda", "gcf", "knative"):
        out = tmp_path / f"{platform}.zip"
        assert main(["package", "java", "--platform", platform, "-o", str(out)]) == 0
    command = server("java")
    assert len(runs(tmp_path)) == 1 and str(ROOT / "functions" / "java") in runs(tmp_path)[0]
    assert command.words[:2] == (str(tools / "java"), "-jar")
    assert os.path.isfile(command.words[2]) and command.words[2].startswith(str(tmp_path / "cache"))


def test_the_local_server_in_go_comes_from_the_cache(tools, tmp_path):
    (word,) = server("go").words
    assert word.startswith(str(tmp_path / "cache")) and os.access(word, os.X_OK)


def test_frameworks_of_node_are_installed_once(tools, tmp_path, capsys):
    first = frameworks.ready(Platform("node", "gcf"), sys.executable)
    assert "installing gcf's framework for Node.js with npm, once, into" in capsys.readouterr().err
    assert frameworks.ready(Platform("node", "gcf"), sys.executable) == first
    assert len(runs(tmp_path)) == 1 and runs(tmp_path)[0].startswith(str(tmp_path / "cache"))
    assert os.path.isdir(f"{first['framework']}/node_modules")
    assert frameworks.ready(Platform("node", "knative"), sys.executable) != first


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("serve go --platform gcf", "go"),
        ("package go --platform lambda -o x.zip", "go"),
        ("measure go", "go"),
        ("serve java --platform lambda", "mvn"),
        ("package java --platform gcf -o x.zip", "java"),
        ("measure java", "mvn"),
        ("serve node --platform lambda", "npm"),
        ("serve node --platform gcf", "node"),
        ("measure node", "node"),
    ],
)
def test_a_missing_tool_is_one_line(words, missing, tools, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # The real ones may lie beside what else is needed.
    monkeypatch.setenv("PATH", str(tools))
    (tools / missing).unlink()
    assert main(words.split()) == 1
    err = capsys.readouterr().err
    assert f"swtch faas: {missing} is not on PATH and " in err and err.endswith(" needs it; install it\n")
    assert err.count("\n") == 1
    assert not (tmp_path / "x.zip").exists() and not (tmp_path / "cache").exists()


SAID = {
    "go": ("# swtch/clock\nclock/clock.go:3:1: syntax error: x\n", "clock/clock.go:3:1: syntax error: x"),
    "mvn": (
        "\x1b[0m\x1b[0m[ERROR] COMPILATION ERROR :\n[ERROR] Failed to execute goal on project swtch-function: Could not resolve dependencies\n[ERROR] -> [Help 1]\n[ERROR]\n",
        "Failed to execute goal on project swtch-function: Could not resolve dependencies",
    ),
    "npm": (
        "npm ERR! code 1\nnpm ERR! path /x\nnpm ERR! command failed\nnpm ERR! checking for x... failed\nnpm ERR! Error: cmake is not installed.\n\nnpm ERR! A complete log of this run can be found in: x\n",
        "Error: cmake is not installed.",
    ),
}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[ERROR] /x/Work.java:[59,10] reached end of file\n[ERROR] Failed to execute goal x", "/x/Work.java:[59,10] reached end of file"),
        ("go: downloading x v1\na.go:9:2: module lookup disabled by GOPROXY=off", "a.go:9:2: module lookup disabled by GOPROXY=off"),
        ("npm error errno X\nnpm error FetchError: request to x failed, reason: y\nnpm error     at x", "FetchError: request to x failed, reason: y"),
        ("it says this\nand that\n\n", "and that"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_reason_is_the_line_that_says_it(said, why):
    assert builds.reason(said) == why


@pytest.mark.parametrize(("name", "language"), [("go", "go"), ("mvn", "java"), ("npm", "node")])
def test_what_cannot_be_made_is_one_line_with_the_reason(name, language, tools, tmp_path, capsys):
    said, why = SAID[name]
    tool(tools, name, f"#!/bin/sh\ncat <<'.'\n{said}.\nexit 3\n")
    assert main(["serve", language, "--platform", "lambda"]) == 1
    _, err, nothing = capsys.readouterr().err.split("\n")
    assert f" failed: {why}; its whole output is in {tmp_path / 'cache'}" in err and nothing == ""
    assert open(err.split(" is in ")[1]).read() == said
    # Nothing half made is taken for whole the next time.
    assert [one.suffix for one in builds.cache().iterdir()] == [".log"]
    tool(tools, name, "#!/bin/sh\nexit 3\n")
    assert main(["serve", language, "--platform", "lambda"]) == 1
    assert f"{name} ended with status 3; its whole output" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_one_line(tools, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["measure", "go"]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert (
        "cannot be written (Not a directory); set XDG_CACHE_HOME to a directory that you can write to" in err
    )


def test_two_that_make_the_same_at_once_do_not_meet(tools, tmp_path, monkeypatch):
    # Meanwhile another process has made the same.
    tool(
        tools,
        "go",
        TOOL
        + 'for directory in "$XDG_CACHE_HOME"/swtch/functions/go-unfinished-*; do cp -r "$directory" "$THEIRS"; done\n',
    )
    monkeypatch.setenv("THEIRS", str(tmp_path / "theirs"))
    (word,) = server("go").words
    theirs = builds.Path(word).parent
    shutil.rmtree(theirs)
    monkeypatch.setenv("THEIRS", str(theirs))
    assert server("go").words == (word,) and os.access(word, os.X_OK)
    assert [one.name for one in builds.cache().iterdir()] == [theirs.name]


def test_what_was_made_of_other_sources_goes_when_nobody_used_it_for_long(tools, tmp_path):
    server("go")
    (first,) = builds.cache().glob("go-*")
    other = first.with_name("go-0123456789abcdef")
    left = first.with_name("go-unfinished-x")
    no_such = first.with_name("go-mine")
    for directory in (other, left, no_such):
        directory.mkdir()
        os.utime(directory, (1, 1))
    os.utime(first, (1, 1))
    server("go")
    # A used build counts as new again.
    assert time.time() - first.stat().st_mtime < 3600
    assert main(["package", "go", "--platform", "lambda", "-o", str(tmp_path / "x.zip")]) == 0
    assert first.is_dir() and no_such.is_dir() and not other.exists() and not left.exists()


def test_a_package_in_its_sources_has_its_handlers_beside_it(tmp_path, monkeypatch):
    """Even where another one is installed."""
    monkeypatch.delenv("SWTCH_FUNCTIONS", raising=False)
    installed = tmp_path / "share" / "swtch" / "functions"
    installed.mkdir(parents=True)
    monkeypatch.setattr(directories.sysconfig, "get_path", lambda name: str(tmp_path))
    sources = tmp_path / "sources"
    (sources / "functions").mkdir(parents=True)
    monkeypatch.setattr(
        directories, "__file__", str(sources / "python" / "swtch" / "faas" / "directories.py")
    )
    assert directories.functions() == installed
    (sources / "pyproject.toml").write_text("")
    assert directories.functions() == sources / "functions"
    shutil.rmtree(sources / "functions")
    shutil.rmtree(installed)
    with pytest.raises(CommandError, match="set SWTCH_FUNCTIONS"):
        directories.functions()
