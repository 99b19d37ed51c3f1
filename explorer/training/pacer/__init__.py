"""PACER's pre-verification layer: its data, its training, its report (arXiv 2602.01274)."""
