"""Names in a scope that no template can spell: what filters, functions and variables need to know of a turn."""

DRAW = " draw"  # a function without arguments: the turn's next random number, from 0 up to 1
LANGUAGE = " language"  # the contact's language as a code such as en or pt-BR; it may be missing
OWN = " own"  # the bot's own functions and filters, by name
HOURS = " hours"  # the bot's opening hours, by name
EFFORT = " effort"  # what the templates of this turn may still do; where it is missing, each begins anew
WORDINGS = " wordings"  # the bot's own wordings in place of the built-in ones, by name; it may be missing
