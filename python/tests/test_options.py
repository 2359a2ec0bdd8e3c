"""Options of the package's commands: no abbreviations, one name for one thing."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator

import pytest
from command_examples import ROOT

from swtch._command import Parser
from swtch.ai import command as ai
from swtch.ai import worker
from swtch.faas import command as faas

SOURCES = ("python", "functions", "experiments", "tests", "tools")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of all its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers(one)


EVERY = [one for root in (ai._parser(), faas._parser(), worker._parser()) for one in parsers(root)]


def test_the_walk_reaches_all_commands() -> None:
    """Otherwise the tests below would check nothing."""
    names = {one.prog for one in EVERY}
    assert {
        "swtch ai run",
        "swtch ai tune",
        "swtch ai list",
        "swtch faas tiers",
        "swtch faas prices",
    } <= names


@pytest.mark.parametrize("parser", EVERY, ids=lambda one: one.prog)
def test_no_parser_takes_abbreviations(parser: argparse.ArgumentParser) -> None:
    assert isinstance(parser, Parser) and not parser.allow_abbrev


def test_no_script_of_the_project_takes_abbreviations() -> None:
    """Every `ArgumentParser(...)` in tracked directories turns them off by itself."""
    found = 0
    for path in (path for source in SOURCES for path in (ROOT / source).rglob("*.py")):
        if "swtch.data" in path.parts or "node_modules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            is_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ArgumentParser")
            if is_call:
                found += 1
                settings = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert settings.get("allow_abbrev") == "False", f"{path}:{node.lineno}"
    assert found >= 2


@pytest.mark.parametrize(
    ("main", "words", "message"),
    [
        (ai.main, "run 1 --thread 2", "unrecognized arguments: --thread 2"),
        (
            ai.main,
            "run 1 --repeats 3",
            "swtch ai run: --repeats is called --runs now; see swtch ai run --help",
        ),
        (ai.main, "run 1 --repeats=3", "--repeats is called --runs now"),
        (ai.main, "run 1 --time-limit 1s", "--time-limit is called --timeout now"),
        (ai.main, "run 1 --load-limit 1s", "--load-limit is called --load-timeout now"),
        (ai.main, "tune 1 --schedulers stock", "--schedulers is called --policies now"),
        (ai.main, "tune 1 --repeats 3", "--repeats is called --runs now"),
        (faas.main, "tiers --price gcf-1", "--price is called --price-table now"),
        (faas.main, "tiers --repeats 3", "--repeats is called --runs now"),
        (faas.main, "tiers --time-limit 1s", "--time-limit is called --timeout now"),
        (faas.main, "measure --time-limit 1s", "--time-limit is called --timeout now"),
    ],
)
def test_old_names_are_refused_with_the_new_one(main, words, message, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    complaint = capsys.readouterr().err
    assert ended.value.code == 2 and message in complaint and complaint.count("\n") == 1


@pytest.mark.parametrize("parser", EVERY, ids=lambda one: one.prog)
def test_the_help_shows_no_old_name(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    assert not [old for old in ("--repeats", "--time-limit", "--load-limit", "--schedulers") if old in text]


@pytest.mark.parametrize("program", ["ai run", "ai tune", "faas tiers"])
def test_a_study_is_written_where_o_says(program: str) -> None:
    parser = next(one for one in EVERY if one.prog == f"swtch {program}")
    assert parser.parse_args(["-o", "here"]).out == parser.parse_args(["--out", "here"]).out
