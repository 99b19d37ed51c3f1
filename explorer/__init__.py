"""Speculative Decoding Explorer: run, record and look at FLy and PACER on real weights."""

import os

__version__ = "0.1.0"

# Read when torch loads its OpenMP. Threads that wait by spinning make a decode twenty times slower as soon as another
# program wants a core; giving up after about a tenth of a millisecond costs next to nothing on an idle machine (measured).
os.environ.setdefault("GOMP_SPINCOUNT", "3000")
