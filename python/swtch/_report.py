"""The page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from . import _native
from ._profile import Profile


def report(
    profiles: Profile | Iterable[Profile] | Mapping[str, Profile],
    path: str | os.PathLike[str] = "report.html",
) -> Path:
    """Writes one self-contained HTML page from any number of Profiles and returns where it is.

    Several stand side by side, each against the first. A mapping names them; without one, a Profile goes by its file's name
    or as "this machine". Raises `UsageError` when there is no Profile and `OSError` when the page cannot be written.
    """
    if isinstance(profiles, Profile):
        profiles = [profiles]
    if not isinstance(profiles, Mapping):
        named = [(_name(profile), profile) for profile in profiles]
    else:
        named = list(profiles.items())
    _native.report([(name, profile.to_json()) for name, profile in named], path)
    return Path(path)


def _name(profile: Profile) -> str:
    """As `swtch report` has it."""
    stem = profile._path.stem if profile._path else "profile"
    return "this machine" if stem == "profile" else stem
