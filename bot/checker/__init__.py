"""The checker: what would go wrong in a bot that loads, found without running it.

`prove` is all of it. Errors (``E``), which keep a bot from being served, are `bot.flow.checks`' affair.
"""

from bot.checker.prove import prove as prove
