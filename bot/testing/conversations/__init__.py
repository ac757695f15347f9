"""Tests of a bot: written conversations, compared with what the bot really sends; also evaluations and attacks."""
