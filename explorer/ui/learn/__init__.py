"""The Learn tab."""
