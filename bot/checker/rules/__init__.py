"""The rules: what can be wrong in a bot that loads, each a function from the graph to findings.

A file that lies here is loaded, so that its rules are held: a new rule needs nothing else in `bot`, and a page in docs/checks.
"""

from importlib import import_module
from pkgutil import iter_modules

from bot.checker.findings import RULES, TITLES

__all__ = ["RULES", "TITLES"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
