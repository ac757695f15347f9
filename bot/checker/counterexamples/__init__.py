"""Findings told as conversations, which a test can hold once more."""
