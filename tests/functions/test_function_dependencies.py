"""Every direct dependency of the functions is explained in docs/dependencies.md, under a licence that may be; what manifests alone tell.

The licence of a Go module or a Maven artifact must be the one in the list. The tests of these languages check that, as they download them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dependencies
from dependencies import GO, MAVEN, NPM, Dependency, direct, listed, manifests, permitted

DIRECT = direct()


@pytest.mark.parametrize("kind", [GO, MAVEN, NPM])
def test_the_list_has_what_manifests_name_and_nothing_else(kind: str) -> None:
    named = {one.name for one in DIRECT if one.kind == kind}
    assert len(named) > 0
    assert named == set(listed(kind))


@pytest.mark.parametrize("one", DIRECT, ids=lambda one: f"{one.name} in {one.manifest.parent.name}")
def test_each_has_a_reason_and_a_licence_that_may_be(one: Dependency) -> None:
    row = listed(one.kind)[one.name]
    assert row.why
    assert permitted(row.licence, one.only_tests), f"{row.licence} may not be depended on"


def test_the_licences_of_npm_packages_are_those_in_the_list() -> None:
    seen = set()
    for path in manifests("package-lock.json"):
        packages = json.loads(path.read_text())["packages"]
        for name in packages[""].get("dependencies", {}):
            assert packages[f"node_modules/{name}"]["license"] == listed(NPM)[name].licence
            seen.add(name)
    assert seen == {one.name for one in DIRECT if one.kind == NPM}


def test_the_gpl_may_not_be_and_a_choice_may() -> None:
    assert permitted("MIT") and permitted("GPL-2.0-only OR MIT") and permitted("MIT AND Apache-2.0")
    for licence in ("GPL-2.0-only", "MIT AND GPL-2.0-only", "EPL-2.0", ""):
        assert not permitted(licence)
    assert permitted("EPL-2.0", only_tests=True)


def test_manifests_are_read_whole(tmp_path: Path) -> None:
    module = tmp_path / "go.mod"
    module.write_text(
        "module m\n\nrequire example.com/a v1.2.0\nrequire (\n\texample.com/b v0.1.0\n\texample.com/c v2.0.0 // indirect\n)\n"
    )
    assert [(one.name, one.version) for one in dependencies.of_go(module)] == [
        ("example.com/b", "v0.1.0"),
        ("example.com/a", "v1.2.0"),
    ]
    pom = tmp_path / "pom.xml"
    pom.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><dependencies>'
        "<dependency><groupId>swtch</groupId><artifactId>own</artifactId><version>1</version></dependency>"
        "<dependency><groupId>g</groupId><artifactId>a</artifactId><version>2</version><scope>test</scope></dependency>"
        "</dependencies><build><plugins><plugin><artifactId>p</artifactId><version>3</version></plugin>"
        "<plugin><artifactId>configured</artifactId></plugin></plugins></build></project>"
    )
    assert [(one.name, one.version, one.only_tests) for one in dependencies.of_maven(pom)] == [
        ("g:a", "2", True),
        ("org.apache.maven.plugins:p", "3", False),
    ]
    package = tmp_path / "package.json"
    package.write_text('{"dependencies": {"x": "1"}, "devDependencies": {"y": "2"}}')
    assert [(one.name, one.only_tests) for one in dependencies.of_npm(package)] == [("x", False), ("y", True)]


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("Apache License\n  Version 2.0, January 2004", "Apache-2.0"),
        ("Permission is hereby granted, free of charge ... this permission\nnotice shall be included", "MIT"),
        (
            "Redistribution and use in source and binary forms ... Neither the name of X nor",
            "BSD-3-Clause",
        ),
        (
            "Redistribution and use in source and binary forms ... Redistributions in binary form must",
            "BSD-2-Clause",
        ),
    ],
)
def test_a_licence_is_known_by_its_text(text: str, licence: str, tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text(text)
    assert dependencies.of_text(tmp_path) == licence
    (tmp_path / "LICENSE").write_text("All rights reserved.")
    with pytest.raises(AssertionError, match="none of the licences that are known here"):
        dependencies.of_text(tmp_path)
