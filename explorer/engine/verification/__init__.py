"""One target pass over a draft, and what is read off it."""
