"""The user's function, found once."""

from __future__ import annotations

import importlib
import os
import sys

from .called import HANDLER

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "user"))
_module, _, _name = HANDLER.rpartition(":")
FUNCTION = getattr(importlib.import_module(_module), _name)
