"""The checker: what would go wrong in a bot that loads, found without serving it. `prove` is where it begins."""
