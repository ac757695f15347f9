"""The rules of `bot check`: functions from the graph of a bot to findings.

Every file in this folder is loaded, and so its rules apply. A new rule needs no other change in `bot`, and a page in
docs/checks.
"""

from importlib import import_module
from pkgutil import iter_modules

from bot.checker.findings import RULES, TITLES

__all__ = ["RULES", "TITLES"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
