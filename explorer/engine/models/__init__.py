"""Weights and the forwards over them: the table of known pairs, loading, layouts for CPUs and GPUs, key-value caches."""
