"""The Tune tab: its layout and its handlers."""
