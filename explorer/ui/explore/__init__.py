"""The Explore tab: its layout and its handlers."""
