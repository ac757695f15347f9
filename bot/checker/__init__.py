"""The checker: finds what would go wrong in a bot that loads, without serving it. `run_rules` is its entry point."""
