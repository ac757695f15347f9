"""Tests of a bot: conversations in YAML, compared with what the bot really sends; also evaluations and attacks."""
