"""Attacks on the steps that ask a model: injections, and a model that does whatever they ask of it."""
