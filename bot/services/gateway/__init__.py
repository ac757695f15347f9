"""The messaging gateway's client, written from its specification: it makes requests, and reads the webhook's events."""
