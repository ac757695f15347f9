"""Flows: from documents to definitions, checked, as machines, in a library."""
