"""The Compare tab: its layout and its handlers."""
