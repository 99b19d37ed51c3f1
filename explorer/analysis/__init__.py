"""Traces in, tables out: metrics, replay, where two texts part. Nothing here runs a model."""
