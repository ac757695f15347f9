"""The bot's own Python: plain functions, whose arguments are checked by their types."""

from decimal import Decimal

from bot import function

PIECE = Decimal("2.50")
WHOLE_CAKE = 12


@function("cake_price")
def cake_price(pieces: int) -> Decimal:
    """The price of some pieces of cake, in euros: a whole cake or more is a tenth cheaper."""
    return pieces * PIECE * (Decimal("0.9") if pieces >= WHOLE_CAKE else 1)
