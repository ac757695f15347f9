"""Conversations that were held, and the ones under way, met by other flows."""
