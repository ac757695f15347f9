"""Bots of other systems, imported: what an export says becomes flows, and its conversations are played on them."""
