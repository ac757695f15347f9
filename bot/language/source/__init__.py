"""The basis of the language: YAML with its places, problems, texts of people, languages, times. No I/O, no clock."""
