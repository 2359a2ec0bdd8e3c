"""Functions of one's own in every language, as variants of one study, and under load."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from faas_host import ROOT, SCHEMA, STUB, leaves_no_groups, needs_groups, tiers_file
from schema_check import faults
from test_faas_figures import line, plan

from swtch._errors import CommandError, WrongUsage
from swtch.faas import load, own, study, switches, variants
from swtch.faas.advice import two_ways
from swtch.faas.command import main
from swtch.faas.invoke import Reply
from swtch.faas.price import find
from swtch.faas.rows import cells, rows

PYTHON = """\
import threading, time

def naps(event, context):
    for _ in range(20):
        time.sleep(0.0001)
    return event

def threads(event, context):
    many = [threading.Thread(target=time.sleep, args=(0.0001,)) for _ in range(20)]
    for one in many:
        one.start()
    for one in many:
        one.join()
"""
SERVER = """\
import http.server, os, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "never" in sys.argv:
            time.sleep(1000)
        for _ in range(20):
            time.sleep(0.0001)
        status = 200 if self.path == "/asked" else 404
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

if "ends" in sys.argv:
    raise SystemExit("there is no model.bin")
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
NODE = "exports.handler = async (event) => ({ got: event });\nexports.fails = () => { throw new TypeError('no way'); };\n"
GO = """\
package app

type Event struct{ A int }

// Handle answers.
func Handle(event Event) (map[string]int, error) { return map[string]int{"a": event.A}, nil }
"""
JAVA = """\
import java.util.Map;

public class App {
    public Map<String, Object> handle(Map<String, Object> event, Object context) {
        return Map.of("got", event);
    }
}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory to be in; no cgroup and no process is left by any test."""
    needs_groups()
    (tmp_path / "functions").mkdir()
    # What measures beside a function makes its figures up; what calls it is the project's.
    (tmp_path / "functions" / "python").symlink_to(STUB / "python")
    for language in ("node", "go", "java"):
        (tmp_path / "functions" / language).symlink_to(ROOT / "functions" / language)
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(tmp_path / "functions"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(PYTHON)
    (tmp_path / "serves.py").write_text(SERVER)
    with leaves_no_groups():
        yield tmp_path
    assert Path(f"/proc/self/task/{os.getpid()}/children").read_text().split() == []


def studied(at, *words, tiers=((64, 0.5),), status=0):
    """The studies that a command writes, by the names of their functions."""
    assert main(["tiers", "--tiers", tiers_file(at, *tiers), "--out", "out", *words]) == status
    found = [study.read(path.parent) for path in sorted(Path("out").rglob("tiers.json"))]
    for document in found:
        assert faults(document, json.loads(SCHEMA.read_text())) == []
    return {document["function"]["name"]: document for document in found}


def test_a_function_in_every_language_and_a_program_run_in_the_same_tiers(place, capsys):
    for tool in ("node", "go", "javac"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")
    (place / "web.js").write_text(NODE)
    (place / "go.mod").write_text("module example.com/app\n\ngo 1.21\n")
    (place / "app").mkdir()
    (place / "app/app.go").write_text(GO)
    (place / "App.java").write_text(JAVA)
    assert os.system("javac App.java") == 0
    Path("event.json").write_text('{"A": 3}')
    handlers = ("naps=app:naps", "web:handler", "go=./app:Handle", "App::handle")
    words = [word for name in handlers for word in ("--handler", name)]
    found = studied(place, *words, "--command", "http=python3 serves.py", "--path", "/asked", "--event", "event.json", "--runs", "2", tiers=((512, 0.9),))  # fmt: skip
    assert list(found) == ["App::handle", "go", "http", "naps", "web:handler"]
    assert [one["function"]["language"] for one in found.values()] == [
        "java",
        "go",
        "command",
        "python",
        "node",
    ]
    for name, document in found.items():
        for one in document["invocations"]:
            assert one["outcome"] == "complete", one
            assert one["switches"]["voluntary"] >= 0 and one["function_cpu_ns"] >= 0
        counted_by = {row["own_switches"]["counted_by"] for row in document["rows"]}
        # The small handler of these tests says nothing of switches.
        assert counted_by == {"proc" if name in ("http", "App::handle", "naps") else "getrusage"}
    # Naps are voluntary switches, counted inside or outside.
    for name in ("naps", "http"):
        for one in found[name]["invocations"]:
            assert 20 <= one["switches"]["voluntary"] <= 60
    (compared,) = {one["against"] for document in found.values() for one in document["comparisons"]}
    assert compared == "naps"
    out = capsys.readouterr().out
    assert out.startswith(
        "Compared with naps, web:handler: too few rounds to tell at 512 MB and unthrottled."
    )


def test_threads_that_end_are_counted_by_the_function_itself(place, monkeypatch):
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    (document,) = studied(place, "--handler", "app:threads", "--runs", "1").values()
    for one in document["invocations"]:
        assert one["switches"]["counted_by"] == "getrusage" and one["switches"]["voluntary"] >= 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--command", "python3 serves.py ends"], "ended with status 1: there is no model.bin"),
        (["--command", "sleep 100"], "nothing listened on 127.0.0.1 at the port of $PORT within 1 s"),
        (["--command", "python3 serves.py never"], "no answer within 1 s; raise --timeout"),
        (["--command", "python3 serves.py", "--path", "/other"], "HTTP 404 Not Found"),
    ],
)
def test_a_program_that_does_not_answer_is_told_in_one_line(place, words, said, monkeypatch, capsys):
    if "sleep" in words[1]:
        monkeypatch.setattr("swtch.faas.runner.START_LIMIT_S", 1.0)
    (document,) = studied(place, *words, "--timeout", "1s", "--runs", "1", status=1).values()
    assert {one["outcome"] for one in document["invocations"]} <= {"failed", "timeout"}
    for one in document["invocations"]:
        assert said in one["why"] and "\n" not in one["why"], one["why"]
    assert said in capsys.readouterr().out


def test_an_open_loop_counts_from_when_a_request_was_due():
    def slow():
        time.sleep(0.02)
        return Reply("complete", 20_000_000)

    # Due every 5 ms and served every 20 ms at best: each waits longer than the one before.
    answered = load.run([slow], 6, 200.0)
    waited = [one.waited_ns for one in answered]
    assert waited == sorted(waited) and len(set(waited)) == 6
    assert all(one.reply.latency_ns == 20_000_000 + one.waited_ns for one in answered)
    # Callers that wait for their answers wait for nothing else.
    assert [one.waited_ns for one in load.run([slow, slow], 4, None)] == [0] * 4
    with pytest.raises(ZeroDivisionError):
        load.run([lambda: 1 / 0], 1, None)


def test_load_has_a_line_for_each_invocation_and_goes_on(place, capsys):
    words = ["--work", "1ms", "--rate", "200", "--concurrency", "2", "--requests", "4", "--runs"]
    (document,) = studied(place, *words, "1").values()
    assert document["load"] == {"rate_per_s": 200, "concurrency": 2, "requests_per_round": 4, "instances": 2}
    assert {row["n"] for row in document["rows"]} == {4}
    works = [one for one in document["invocations"] if one["work_ms"]]
    assert sorted(one["repeat"] for one in works) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(one["waited_ns"] >= 0 and one["group"] is None for one in works)
    assert "Open loop: 200 requests a second, at most 2 at a time" in capsys.readouterr().out
    assert main(["tiers", "--resume", "out", "--runs", "2"]) == 0
    assert {row["n"] for row in study.read(Path("out"))["rows"]} == {8}
    shutil.rmtree("out")
    words = ["--command", "python3 serves.py", "--path", "/asked", "--concurrency", "3", "--runs", "1"]
    (other,) = studied(place, *words).values()
    assert other["load"] == {"rate_per_s": None, "concurrency": 3, "requests_per_round": 12, "instances": 1}
    assert all(one["latency_ns"] > 0 and one["waited_ns"] == 0 for one in other["invocations"])


def test_what_is_missing_or_wrong_is_one_line_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, said in [
        ((["a:b", "a=c:d", "a=e:f"], [], []), "two functions are called 'a'"),
        ((["nothing"], [], []), "'nothing' is not MODULE:FUNCTION, such as my_module:my_function"),
        ((["App::"], [], []), "'App::' is not CLASS::METHOD"),
        (([], ['sh -c "x'], []), "the command 'sh -c \"x' cannot be read"),
    ]:
        with pytest.raises(WrongUsage) as wrong:
            own.functions_of(*words, [], None)
        assert said in str(wrong.value)
    (tmp_path / "both.py").touch()
    (tmp_path / "both.js").touch()
    with pytest.raises(WrongUsage) as wrong:
        own.functions_of(["both:f"], [], [], [], None)
    assert "may be in python or node; give --language" in str(wrong.value)
    assert own.functions_of(["both:f"], [], [], [], "node")[0].language == "node"
    monkeypatch.setenv("PATH", str(tmp_path))
    for language, what in (
        ("node", "a:b"),
        ("go", "./a:B"),
        ("java", "A::b"),
        ("command", "no-such a"),
        ("image", "x"),
    ):
        with pytest.raises(CommandError) as missing:
            own.OwnFunction("x", language, what).command()
        said = str(missing.value)
        assert "on PATH" in said and "install" in said and "\n" not in said


def latencies(drawn, tier, repeats, ms, spread=0.1):
    return [
        line(tier, ms * drawn.lognormvariate(0, spread), repeat, work_ms=0.0) for repeat in range(repeats)
    ]


def verdicts(first, second):
    made = plan(works_ms=(0.0,), repeats=20)
    one, other = (cells(made, found, None) for found in (first, second))
    found = variants.compare("second", other, "first", one, len(other))
    return variants.corrected(found)


def test_equal_functions_are_not_told_apart_in_95_of_100_studies():
    drawn = random.Random(20)
    told = 0
    for _ in range(400):
        both = [[*latencies(drawn, "128 MB", 20, 90), *latencies(drawn, "2048 MB", 20, 30)] for _ in range(2)]
        told += any(one["verdict"] != variants.EQUAL for one in verdicts(*both))
    assert told <= 20


def test_a_variant_that_is_faster_in_one_tier_only_is_said_so():
    drawn = random.Random(3)
    first = [*latencies(drawn, "128 MB", 20, 90), *latencies(drawn, "2048 MB", 20, 26)]
    second = [*latencies(drawn, "128 MB", 20, 90), *latencies(drawn, "2048 MB", 20, 20)]
    compared = verdicts(first, second)
    assert [one["verdict"] for one in compared] == ["not distinguishable", "faster"]
    (said,) = variants.sentences(compared)
    assert re.match(
        r"Compared with first, second: 1\.[23]\d* times as fast at 2048 MB \(1\.\d+ to 1\.\d+\); ",
        said["text"],
    )
    assert said["text"].endswith("no difference found at 128 MB.")
    few = verdicts(first[:3], second[:3])
    assert few[0]["verdict"] == "too few rounds"


def test_equal_tiers_are_not_told_apart_in_95_of_100_studies():
    from swtch.faas.advice import advise
    from swtch.faas.tier_sets import Tier

    tiers = tuple(Tier(name, 512, 0.3) for name in ("one", "two", "three"))
    made, price = plan(tiers=tiers, price="lambda-x86", repeats=12), find("lambda-x86")
    drawn = random.Random(5)
    told = 0
    for _ in range(100):
        # Half of them fit into the quota.
        found = [
            line(tier.name, (12 if drawn.random() < 0.5 else 98) * drawn.lognormvariate(0, 0.03), repeat)
            for tier in tiers
            for repeat in range(12)
        ]
        (said,) = advise(cells(made, found, price), None)
        told += said["text"].partition("not distinguishable from it: ")[2].count(",") != 1
    assert told <= 5


def test_a_tier_with_two_latencies_is_said_so_and_others_are_not():
    def some(repeat, fits):
        group = {
            "periods": 1,
            "periods_throttled": int(not fits),
            "throttled_ns": 0 if fits else 80_000_000,
            "cpu_ns": 10_000_000,
        }
        return line(
            "128 MB", (11 if fits else 98) + repeat / 10, repeat, group={**group, "memory_peak_bytes": 1}
        )

    (row,) = rows(plan(repeats=20), [some(repeat, repeat % 4 > 0) for repeat in range(20)], None)
    assert [(one["share"], one["stopped_share"]) for one in row["modes"]] == [(0.75, 0.0), (0.25, 1.0)]
    (said,) = two_ways([row])
    assert said["text"] == (
        "10 ms of work has two latencies at 128 MB: 12 ms where it fits into the quota (75 % of invocations), and 98.8 ms where it does not."
    )
    # One of twenty is an accident; without the quota's part in it, others had the CPU.
    assert (
        rows(plan(repeats=20), [some(repeat, repeat > 0) for repeat in range(20)], None)[0]["modes"] is None
    )
    always = [{**some(repeat, repeat % 4 > 0), "group": some(0, False)["group"]} for repeat in range(20)]
    assert rows(plan(repeats=20), always, None)[0]["modes"] is None


def test_switches_are_counted_between_two_readings():
    before, after = {1: (5, 1), 2: (9, 9)}, {1: (7, 4), 3: (2, 0)}
    assert switches.between(before, after) == {
        "voluntary": 4,
        "involuntary": 3,
        "counted_by": "proc",
        "ended": 1,
    }
    assert switches.between(before, {}) is None
    assert switches.of_usage({"voluntary": None, "involuntary": None}) is None


@pytest.mark.parametrize("platform", ["lambda", "gcf", "knative", "openfaas"])
def test_a_package_has_the_users_function_behind_the_platforms_adapter(
    platform, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("app.py").write_text("def handle(event, context):\n    return {'got': event}\n")
    Path("requirements.txt").write_text("needed==1.0\n")
    Path("web.js").write_text(NODE)
    Path("package.json").write_text('{"dependencies": {"wanted": "2.0"}}')
    Path(".git").mkdir()
    Path(".git/secret").touch()
    words = ["--platform", platform, "--out"]
    assert main(["package", "python", "--handler", "app:handle", *words, "../python"]) == 0
    assert main(["package", "node", "--handler", "web:handler", *words, "../node"]) == 0
    out = capsys.readouterr().out
    made = {language: tmp_path / language for language in ("python", "node")}
    assert not any(list(top.rglob("secret")) for top in made.values())
    if platform == "lambda":
        # It calls the functions itself.
        assert "Handler: app.handle" in (made["python"] / "template.yaml").read_text()
        assert "Handler: web.handler" in (made["node"] / "template.yaml").read_text()
        assert (made["python"] / "app.py").is_file() and (made["node"] / "web.js").is_file()
        return
    below = "function" if platform == "openfaas" else "."
    asked = "import swtch_function.answer as it; print(it.answer('{\"a\": 1}', None, ''), it.answer(None, 'b=2', ''), it.answer('{', None, '')[0])"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=made["python"] / below, capture_output=True, text=True
    )
    assert done.stdout == "(200, {'got': {'a': 1}}) (200, {'got': {'b': '2'}}) 400\n", done.stderr
    listed = {
        "gcf": "requirements.txt",
        "knative": "pyproject.toml",
        "openfaas": "function/requirements.txt",
    }[platform]
    assert "needed==1.0" in (made["python"] / listed).read_text()
    assert '"wanted": "2.0"' in (made["node"] / below / "package.json").read_text()
    assert "swtch faas tiers --invoke" in out
    if shutil.which("node"):
        asked = "require('./src/http').reply('', {body: '{\"a\": 1}'}).then((it) => console.log(JSON.stringify(it)))"
        done = subprocess.run(["node", "-e", asked], cwd=made["node"] / below, capture_output=True, text=True)
        assert json.loads(done.stdout) == {"status": 200, "document": {"got": {"a": 1}}}, done.stderr


@pytest.mark.parametrize("platform", ["gcf", "knative", "openfaas"])
def test_a_package_in_java_is_an_image_that_answers(platform, tmp_path, monkeypatch, capsys):
    """What the Dockerfile starts, without Docker."""
    for tool in ("java", "javac"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("App.java").write_text(JAVA)
    assert os.system("javac App.java") == 0
    words = ["--platform", platform, "--out", "made"]
    assert main(["package", "java", "--handler", "App::handle", *words]) == 0
    printed = capsys.readouterr().out
    last = {
        "gcf": "gcloud run deploy swtch --region us-central1 --source made",
        "knative": 'docker build --push -t "$REGISTRY/swtch" made',
        "openfaas": 'faas-cli deploy --name swtch --image "$REGISTRY/swtch"',
    }[platform]
    assert f"  {last}" in printed and "swtch faas tiers --invoke" in printed
    text = Path("made/Dockerfile").read_text()
    assert Path("made/service.yaml").is_file() == (platform == "knative")
    assert "COPY lib lib\n" in text
    starts = json.loads(text.partition("CMD ")[2])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {**os.environ, "LISTEN_ADDRESS": f"127.0.0.1:{port}"}
    with subprocess.Popen(starts, cwd="made", env=variables) as process:
        try:
            answers = [
                asked(f"http://127.0.0.1:{port}{path}", body)
                for path, body in (("/", b'{"a": 1}'), ("/_/health", None), ("/health/liveness", None))
            ]
        finally:
            process.kill()
    assert answers == [{"got": {"a": 1}}, "ok", "ok"]


def asked(url, body):
    """What it answers, once it listens."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, body, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def test_what_cannot_be_packaged_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for platform in ("lambda", "gcf"):
        assert (
            main(["package", "java", "--handler", "App::handle", "--platform", platform, "--out", "x"]) == 1
        )
        assert "there are no classes to package; compile them, or set CLASSPATH" in capsys.readouterr().err
