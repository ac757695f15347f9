"""Compares recorded conversations, and those that are under way, with edited flows."""
