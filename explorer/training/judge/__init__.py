"""Judge heads: outcome labels, training, evaluation (arXiv 2504.20039)."""
