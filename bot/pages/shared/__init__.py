"""The common parts of the pages of `bot dev` and of the console: how a contact's phone, turns and values are shown, how
the pages look, and how they are served.
"""
