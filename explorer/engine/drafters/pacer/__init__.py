"""PACER's trained layer at work: its shape, its card, how it scores a block."""
