"""Where drafted tokens come from, and when drafting stops."""
