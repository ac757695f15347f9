"""The checker: finds what would go wrong in a bot that loads, without serving it. `prove` is its entry point."""
