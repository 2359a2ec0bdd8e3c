"""A function that measures itself: what switches and throttling cost where it runs. The standard library only.

`answer` is one invocation; adapters of platforms pass it what came, and what it returns goes back as it is. `python -m swtch_function` serves it
on this machine.
"""

from __future__ import annotations

from .version import VERSION

__all__ = ["VERSION"]
