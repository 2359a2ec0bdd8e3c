"""Products of two matrices, each marked as a span: python3 products.py SIZE SECONDS"""

import sys
import time

import numpy

import swtch

size, seconds = int(sys.argv[1]), float(sys.argv[2])
left, right = numpy.ones((size, size)), numpy.ones((size, size))
end = time.monotonic() + seconds
while time.monotonic() < end:
    with swtch.span("product"):
        left @ right
