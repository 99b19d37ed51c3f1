"""What trains the small parts that ship: layers of PACER, drafts and heads, judge heads."""
