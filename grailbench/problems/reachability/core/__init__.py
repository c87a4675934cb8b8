"""Exact answers without search: forests are peeled off both ends of the DAG, and what is left has a packed closure."""
