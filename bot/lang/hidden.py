"""Names in a scope that no template can spell: what filters, functions and variables need to know of a turn."""
