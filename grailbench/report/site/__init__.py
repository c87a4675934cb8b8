"""A static site over recorded runs: a leaderboard, and a page for each graph, implementation and run."""
