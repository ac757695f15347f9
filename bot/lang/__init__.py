"""The language's ground: source with marks, typed reads, templates, variables, words. Pure: no I/O, no clock."""
