"""The checker: finds problems that a customer would meet, in a bot that loads. `run_rules` is its entry point."""
