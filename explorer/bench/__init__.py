"""Measurements: this engine beside transformers' own decoding, shapes of random weights, the check of a GPU."""
