"""The reader of answers: what people write as numbers, yes or no, days and times, in the languages of `words/`."""
