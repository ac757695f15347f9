"""Files and words: YAML with its places, problems, texts that people write, languages, times. No I/O, no clock."""
