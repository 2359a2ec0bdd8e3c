"""What the template python3-http imports as `function.handler`: what lies beside this file is found only with its directory on the path."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from measured import handle as handle  # noqa: E402
