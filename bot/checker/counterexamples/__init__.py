"""Counterexamples: conversations that show a finding. Each can be written as a test, which fails."""
