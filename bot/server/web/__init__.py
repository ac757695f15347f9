"""The web process: it verifies, appends, commits, answers 200, and does nothing else."""
