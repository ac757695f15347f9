"""The running engine: its loop, the delivery of messages, and the performers of calls, each on its own threads."""
