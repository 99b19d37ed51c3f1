"""Drafts and EAGLE-3 heads made from what a target writes."""
