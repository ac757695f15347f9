"""Tests of a bot: talks written down, held against what the bot really says."""
