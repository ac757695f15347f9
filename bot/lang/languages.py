"""Codes of languages: ``en``, ``pt-BR``."""

ENGLISH = "en"
"""What is spoken where a bot names no language, and understood beside every other."""


def without_country(language: str) -> str:
    """``pt`` for ``pt-BR``."""
    return language.partition("-")[0]
