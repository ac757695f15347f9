"""Shared by the page of `bot dev` and the console: a contact's phone, turns and values, the style, and the server."""
