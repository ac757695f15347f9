"""The findings of the checker for a bot whose files a test writes."""

from dataclasses import dataclass

from bot.checker.findings import Finding
from bot.checker.run_rules import run_rules
from bot.language.flow.documents import Source
from bot.language.flow.library import Library, load
from bot.language.python.gathered import Extensions

BOT = "name: Test\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"


def sources(*flows: str, bot: str = BOT) -> list[Source]:
    """The files of a bot, one a document: bot.yml, flow1.yml, flow2.yml, ..."""
    files = {"bot.yml": bot, **{f"flow{number}.yml": text for number, text in enumerate(flows, 1)}}
    return [Source(path, text.encode()) for path, text in files.items()]


def library(*flows: str, bot: str = BOT) -> Library:
    """The bot of these documents, which must load."""
    loaded = load(sources(*flows, bot=bot), Extensions())
    assert loaded.library is not None, [str(problem) for problem in loaded.problems]
    return loaded.library


@dataclass(frozen=True)
class Only:
    """The findings of some rules: a test asserts its own rule, so that a new rule breaks no test of another."""

    codes: tuple[str, ...]

    def findings(self, *flows: str, bot: str = BOT) -> list[Finding]:
        """Their findings in a bot."""
        every = run_rules(library(*flows, bot=bot), sources(*flows, bot=bot))
        return [finding for finding in every if finding.code in self.codes]

    def found(self, *flows: str, bot: str = BOT) -> list[str]:
        """The same, as it is printed."""
        return [str(finding) for finding in self.findings(*flows, bot=bot)]


def only(*codes: str) -> Only:
    """The rules of these codes."""
    return Only(codes)
