"""Flows: reads and checks documents, and builds a library of flows, each with its state machine."""
