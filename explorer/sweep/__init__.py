"""Sweeps: many settings over a set of prompts, every distinct round computed once."""
