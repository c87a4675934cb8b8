"""Tables from recorded rows, beside the printed ones."""
