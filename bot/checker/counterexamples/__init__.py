"""Counterexamples: conversations that show a finding, each also a failing test."""
