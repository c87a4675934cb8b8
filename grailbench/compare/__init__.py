"""Which cells may be set beside each other, and which of them is better."""
