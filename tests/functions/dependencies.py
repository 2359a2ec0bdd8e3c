"""What the functions' manifests ask for directly, what docs/dependencies.md says of it, and which licences may be.

The project's crates have cargo-deny and `cargo xtask test dependencies` for it. Here each language's own tests look up the licences where its tool
has put its downloads. Checks that need only the manifests run without any tool.
"""

from __future__ import annotations

import json
import re
import tomllib
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

from serving import ROOT

FUNCTIONS = ROOT / "functions"
LIST = ROOT / "docs" / "dependencies.md"
CRATES, GO, MAVEN, NPM = "Crates of the function in Rust", "Go modules", "Maven artifacts", "npm packages"
"""As the headings of their tables are."""
FOR_TESTS_ONLY = {"EPL-2.0"}
"""Of what only runs tests, and is in nothing that is built: the weak copyleft of JUnit concerns changes of JUnit itself."""
_POM = {"m": "http://maven.apache.org/POM/4.0.0"}
_PLUGINS = "org.apache.maven.plugins"
_OURS = "swtch"
_NAMES = {
    "Apache License, Version 2.0": "Apache-2.0",
    "The Apache License, Version 2.0": "Apache-2.0",
    "The Apache Software License, Version 2.0": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "Eclipse Public License v2.0": "EPL-2.0",
    "MIT": "MIT",
    "MIT License": "MIT",
}
"""What poms call licences."""
_PHRASES = (
    ("Apache-2.0", ("Apache License", "Version 2.0, January 2004")),
    ("ISC", ("Permission to use, copy, modify, and/or distribute this software",)),
    ("MIT", ("Permission is hereby granted, free of charge", "permission notice shall be included")),
    ("BSD-3-Clause", ("Redistribution and use in source and binary forms", "Neither the name")),
    ("BSD-2-Clause", ("Redistribution and use in source and binary forms", "Redistributions in binary form")),
)
"""What only the text of that licence has; the first that fits is it."""


@dataclass(frozen=True)
class Dependency:
    """Something that a manifest names."""

    kind: str
    name: str
    version: str
    manifest: Path
    only_tests: bool = False


@dataclass(frozen=True)
class Row:
    """What the list says of it."""

    why: str
    licence: str


def manifests(name: str) -> list[Path]:
    """Those of the functions, less what tools installed."""
    return sorted(path for path in FUNCTIONS.rglob(name) if "node_modules" not in path.parts)


def direct() -> list[Dependency]:
    """Of all manifests."""
    found = [one for path in manifests("go.mod") for one in of_go(path)]
    found += [one for path in manifests("pom.xml") for one in of_maven(path)]
    found += [one for path in manifests("Cargo.toml") for one in of_cargo(path)]
    return found + [one for path in manifests("package.json") for one in of_npm(path)]


def of_go(path: Path) -> list[Dependency]:
    """What a go.mod requires itself."""
    text = path.read_text()
    lines = [line for block in re.findall(r"^require \((.*?)^\)", text, re.MULTILINE | re.DOTALL) for line in block.splitlines()]  # fmt: skip
    lines += re.findall(r"^require ([^(\n]+)$", text, re.MULTILINE)
    words = [line.split() for line in lines if line.strip() and "// indirect" not in line]
    return [Dependency(GO, name, version, path) for name, version, *_ in words]


def of_cargo(path: Path) -> list[Dependency]:
    """What a Cargo.toml names."""
    document = tomllib.loads(path.read_text())
    versions = {
        name: one if isinstance(one, str) else one["version"]
        for name, one in document["dependencies"].items()
    }
    return [Dependency(CRATES, name, version, path) for name, version in versions.items()]


def of_maven(path: Path) -> list[Dependency]:
    """What a pom names: dependencies, plugins, and what a plugin fetches. This project's own modules are none."""

    def said(of: xml.Element, name: str, otherwise: str = "") -> str:
        return of.findtext(f"m:{name}", otherwise, _POM).strip()

    root = xml.parse(path).getroot()
    found = []
    for each in (*root.iterfind(".//m:dependency", _POM), *root.iterfind(".//m:artifactItem", _POM)):
        if said(each, "groupId") != _OURS:
            name = f"{said(each, 'groupId')}:{said(each, 'artifactId')}"
            found.append(Dependency(MAVEN, name, said(each, "version"), path, said(each, "scope") == "test"))
    for each in root.iterfind(".//m:plugin", _POM):
        name = f"{said(each, 'groupId', _PLUGINS)}:{said(each, 'artifactId')}"
        # A module that only configures one has its version from the parent.
        if said(each, "version"):
            found.append(Dependency(MAVEN, name, said(each, "version"), path))
    return found


def of_npm(path: Path) -> list[Dependency]:
    """What a package.json names."""
    document = json.loads(path.read_text())
    runs = [
        Dependency(NPM, name, version, path)
        for kind in ("dependencies", "optionalDependencies", "peerDependencies")
        for name, version in document.get(kind, {}).items()
    ]
    tests = document.get("devDependencies", {})
    return runs + [Dependency(NPM, name, version, path, True) for name, version in tests.items()]


def listed(kind: str) -> dict[str, Row]:
    """The table under a heading of docs/dependencies.md, by name: `| `NAME`, `NAME` | why | licence |`."""
    _, _, after = LIST.read_text().partition(f"\n### {kind}\n")
    found = {}
    for line in re.split(r"\n##", after)[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name in re.findall(r"`([^`]+)`", cells[0]) if line.startswith("| `") else []:
            found[name] = Row(cells[1], cells[2])
    return found


def allowed() -> set[str]:
    """The licences that agree with both of the project's (deny.toml)."""
    return set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])


def permitted(licence: str, only_tests: bool = False) -> bool:
    """Whether something under a licence, or a choice of some, may be depended on."""
    fine = allowed() | (FOR_TESTS_ONLY if only_tests else set())
    choices = licence.strip("()").split(" OR ")
    return any(all(part in fine for part in choice.split(" AND ")) for choice in choices)


def of_text(directory: Path) -> str:
    """The licence that a directory's own file of it is the text of. Fails where that is unknown."""
    files = [path for path in directory.iterdir() if re.fullmatch(r"(?i)(licen[cs]e|copying)(\.txt|\.md)?", path.name)]  # fmt: skip
    assert len(files) == 1, f"{directory} has no file with its licence, or several: {files}"
    text = " ".join(files[0].read_text().split())
    known = (name for name, phrases in _PHRASES if all(phrase in text for phrase in phrases))
    found = next(known, None)
    assert found is not None, f"{files[0]} is none of the licences that are known here; add its phrases"
    return found


def of_pom(repository: Path, dependency: Dependency) -> str:
    """The licence that an artifact's pom names, or the nearest of its parents. Fails where none does.

    repository: Maven's local one.
    """
    group, _, artifact = dependency.name.partition(":")
    version = dependency.version
    while True:
        pom = repository / group.replace(".", "/") / artifact / version / f"{artifact}-{version}.pom"
        root = xml.parse(pom).getroot()
        names = [one.text.strip() for one in root.iterfind("m:licenses/m:license/m:name", _POM) if one.text]
        if names:
            unknown = [name for name in names if name not in _NAMES]
            assert not unknown, f"{pom} names {unknown}, which is not known here"
            return " OR ".join(_NAMES[name] for name in names)
        parent = root.find("m:parent", _POM)
        assert parent is not None, f"neither {dependency.name} nor its parents name a licence"
        group, artifact, version = (
            parent.findtext(f"m:{name}", "", _POM).strip() for name in ("groupId", "artifactId", "version")
        )
