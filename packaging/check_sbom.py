"""Checks a bill of materials against the published schema of CycloneDX: `python packaging/check_sbom.py FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main() -> int:
    """Prints the first complaint, if there is one; returns the exit status."""
    path = Path(sys.argv[1])
    document = json.loads(path.read_text(encoding="utf-8"))
    version = SchemaVersion.from_version(document["specVersion"])
    complaint = JsonStrictValidator(version).validate_str(json.dumps(document))
    if complaint is not None:
        print(f"{path}: {complaint}", file=sys.stderr)
        return 1
    # A validator that takes everything would be no check.
    del document["bomFormat"]
    if JsonStrictValidator(version).validate_str(json.dumps(document)) is None:
        print("check_sbom.py: the validator accepts a document without bomFormat", file=sys.stderr)
        return 1
    print(f"{path}: valid CycloneDX {document['specVersion']}, {len(document['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
