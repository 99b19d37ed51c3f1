"""Speculative Decoding Explorer: run, record and look at FLy and PACER on real weights."""

__version__ = "0.1.0"
