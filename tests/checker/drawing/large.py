"""A flow of as many steps as one wants, like those that grow over the years: menus, forms, checks and ways back."""

from collections.abc import Iterator
from random import Random

from bot.language.flow.library import Library
from tests.checker.proved import library

PERSON = "flow: person\nsteps: {bye: {say: A colleague takes over., then: end}}"


def large(steps: int, seed: int = 1) -> Library:
    """A bot whose flow ``large`` has so many steps. The same seed makes the same flow."""
    return library("\n".join(_flow(steps, Random(seed))), PERSON)


def _flow(steps: int, chance: Random) -> Iterator[str]:
    yield "flow: large\nabout: A flow that has grown.\nstart: {words: [hi, hello]}\nvars: {size: {type: text}}\nsteps:"
    yield "  menu: {ask: What shall it be today?, buttons: {Order: s1, Help: /person, Bye: end}}"
    for number in range(1, steps):
        near = [f"s{min(steps - 1, number + chance.randint(1, 7))}" for _ in range(3)]
        last = number == steps - 1
        match chance.randrange(8):
            case 0 | 1 if not last:
                yield f"  s{number}: {{ask: Which of these would you like to have?, buttons: {{One: {near[0]}, Two: {near[1]}, Not today: end}}}}"
            case 2 if not last:
                yield f"  s{number}: {{ask: What is your size?, save: size, timeout: {{after: 2h, then: /person}}}}"
            case 3 if not last:
                yield f"  s{number}: {{branch: [{{if: size == 'S', then: {near[0]}}}, {{if: size == 'M', then: {near[2]}}}, {{else: next}}]}}"
            case 4 if not last:
                yield f"  s{number}: {{ask: Is that right?, buttons: {{'Yes': next, 'No': s{max(1, number - 4)}, Begin again: menu}}}}"
            case 5 if not last:
                yield f"  s{number}: {{wait: 10m}}"
            case _:
                yield f"  s{number}: {{say: 'Here is what we have got for you, in {{{{ size }}}}.', then: {'menu' if last else 'next'}}}"
