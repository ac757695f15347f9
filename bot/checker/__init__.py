"""The checker: finds faults of a bot that loads, without serving it. `run_rules` is its entry point."""
