"""Weights and the forwards over them: loading, layouts, a pair of models."""
