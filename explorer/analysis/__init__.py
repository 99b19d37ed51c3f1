"""Traces in, tables out: metrics, replay and comparison. Nothing here runs a model."""
