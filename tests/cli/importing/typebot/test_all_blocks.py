"""Each kind of block of Typebot, imported and compared with Typebot's own rules."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.importing.typebot.exports import block, buttons, condition, custom, export, proved, text
from tests.searches import over

ARROW = "data.rows.flatMap(row => row.name)"
BLOCKS: dict[str, dict[str, Any]] = {
    "bubbles": export(
        ("Hi", [
            text("Hello {{Name}}!", "", "{{Name}}"),
            block("image", content={"url": "https://shop.example/a.png"}),
            block("image", content={"url": "https://shop.example/a.gif"}),
            block("video", content={"url": "https://www.youtube.com/watch?v=abc_1"}),
            block("video", content={"url": "https://shop.example/a.mp4"}),
            block("audio", content={"url": "https://shop.example/a.mp3"}),
            block("embed", content={"url": "https://shop.example/page"}),
            block("embed", content={"url": "https://shop.example/a.pdf"}),
            text(""),
            text("Braces {% and {# stay"),
        ]), variables="Name",
    ),
    "inputs": export(
        ("Ask", [
            text("Name?"), block("text input", "Name"),
            text("Age?"), block("number input", "Age", min=18, max=99),
            text("Mail?"), block("email input", "Mail", retryMessageContent="No, {{Name}}."),
            text("Site?"), block("url input", "Site"),
            text("Day?"), block("date input", "Day"),
            text("When?"), block("date input", "When", format="yyyy-MM-dd"),
            text("Time?"), block("time input", "Time"),
            text("Phone?"), block("phone number input", "Phone", defaultCountryCode="ID"),
            text("Stars?"), block("rating input", "Stars", length=5),
            text("Unkept?"), block("number input"),
            text("{{Name}} {{Age}} {{Mail}} {{Site}} {{Day}} {{When}} {{Time}} {{Phone}} {{Stars}}"),
        ]), variables="Name, Age, Mail, Site, Day, When, Time, Phone, Stars",
    ),
    "choices": export(
        ("Ask", [
            text("Which?"),
            buttons("Tea", "A very long title of a button", "Water", variable="Drink", edges={"Water": "Water"}),
            text("You chose {{Drink}}. More?"),
            buttons("Yes", "No", edges={"Yes": "Ask"}),
            text("Several?"),
            buttons("One", "Two", "Three", "Four", variable="Many", isMultipleChoice=True),
            buttons("Only this"),
            text("{{Many}}"), text("Five:"),
            buttons("a", "b", "c", "d", "e", variable="Five", to="End"),
        ]),
        ("Water", [text("Only water."), block("Jump", groupId="g End")]),
        ("End", [text("Bye, {{Five}}.")]),
        variables="Drink, Many, Five",
    ),
    "lists": export(
        ("Begin", [
            block("Set variable", "Cart", type="Append value(s)", item="tea"),
            block("Set variable", "Cart", type="Append value(s)", item="cake"),
            block("Set variable", "Cart", type="Append value(s)", item="a very long kind of pie"),
            custom("Prices", "['3', '4', '5']"),
            text("Which?"), buttons("none", variable="Item", dynamicVariableId="v Cart"),
            block("Set variable", "Price", type="Map item with same index", mapListItemParams={
                "baseItemVariableId": "v Item", "baseListVariableId": "v Cart", "targetListVariableId": "v Prices"}),
            text("{{Item}} is {{Price}}: {{Cart}}"),
            block("Set variable", "Cart", type="Shift", saveItemInVariableId="v First"),
            text("{{First}} {{Cart}}"),
            block("Set variable", "Cart", type="Pop", saveItemInVariableId="v Last"),
            text("{{Last}} {{Cart}}"), custom("Size", "{{Cart}}.length"), text("{{Size}}"),
        ]), variables="Cart, Prices, Item, Price, First, Last, Size",
    ),
    "set": export(
        ("Begin", [
            custom("Score", "0"), custom("Score", "{{Score}} + 2"), custom("Score", "{{Score}} * 3 - 1"),
            custom("Half", "Math.round({{Score}} / 2)"), custom("Part", "{{Score}} / 4"),
            custom("Name", "ann"), custom("Loud", "{{Name}}.toUpperCase() + '!'"),
            custom("Link", "https://shop.example/{{Name}}?x=1"), custom("Zero", "007"),
            custom("Level", "{{Score}} > 3 ? 'high' : 'low'"), custom("Copy", "{{Loud}}"),
            custom("Long", "`Hi ${{{Name}}}, ${{{Score}}}`"), custom("Both", "{{Score}} >= 5 && {{Name}} === 'ann'"),
            text("{{Score}} {{Half}} {{Part}} {{Loud}} {{Link}} {{Zero}} {{Level}} {{Copy}} {{Long}} {{Both}}"),
            block("Set variable", "Name", type="Empty"), text("<{{Name}}>"),
            *(block("Set variable", "Kind", type=kind) for kind in ("Now", "Environment name", "Moment of the day")),
            text("{{Kind}}"), block("Set variable", "Kind", type="Tomorrow"), text("{{Kind}}"),
            block("Set variable", "Kind", type="Phone number"), text("{{Kind}} {{=1 + 2=}} {{Gone}}"),
        ]), variables="Score, Half, Part, Name, Loud, Link, Zero, Level, Copy, Long, Both, Kind",
    ),
    "code": export(
        ("Begin", [
            text("Name?"), block("text input", "Name"),
            custom("Out", "const x = {{Name}}; return x.split('').reverse().join('')", isCode=True),
            text("{{Out}}"), block("Code", content="alert(1)"), block("Email", recipients=["{{Name}}"]),
            block("Google Sheets", action="Get data from sheet", cellsToExtract=[{"variableId": "v Cell"}]),
            block("Pixel"), block("Chatwoot"), text("{{Cell}}"),
        ]), variables="Name, Out, Cell",
    ),
    "services": export(
        ("Begin", [
            text("Name?"), block("text input", "Name"),
            block("Webhook", webhook={
                "url": "https://api.example/a/{{Name}}", "method": "POST", "body": '{"name": "{{Name}}", "n": {{Name}}}',
                "headers": [{"key": "X-Key", "value": "1"}], "queryParams": [{"key": "q", "value": "{{Name}}"}]},
                isCustomBody=True,
                responseVariableMapping=[{"variableId": "v Rows", "bodyPath": ARROW}, {"variableId": "v First", "bodyPath": "data.first.id"}]),
            block("Zapier", webhook={"url": "https://hooks.example/x"}), block("Make.com"),
            text("{{Rows}} {{First}}"),
            block("openai", action="Create chat completion", messages=[
                {"role": "system", "content": "Be kind to {{Name}}."}, {"role": "user", "content": "{{First}}"}],
                responseMapping=[{"item": "Message content", "variableId": "v Said"}]),
            text("{{Said}}"), buttons("Again", "Stop", edges={"Again": "Begin"}),
        ]), variables="Name, Rows, First, Said",
    ),
    "logic": export(
        ("Begin", [
            text("How old?"), block("number input", "Age"),
            condition(("Age", "Greater than", "17"), to="Old", otherwise="Young"),
        ]),
        ("Old", [
            block("Wait", secondsToWaitFor="3"), text("Welcome."), block("Redirect", url="https://shop.example/{{Age}}"),
            block("AB test", items=[{"path": "a", "to": "A"}, {"path": "b", "to": "B"}], aPercent=30),
        ]),
        ("Young", [text("Too young."), buttons("Again", edges={"Again": "Begin"})]),
        ("A", [text("Half A")]), ("B", [text("Half B")]), ("Lonely", [text("Nobody comes.")]),
        variables="Age",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_do_the_same_or_the_report_says_what_differs(name: str, tmp_path: Path) -> None:
    bot, proof = proved(tmp_path, BLOCKS[name])
    assert proof.unexplained == 0 and proof.messages > 0
    assert {node.place for node in bot.nodes} >= {
        place for each in bot.conversations for turn in each.turns for place in turn.visited
    }


@pytest.mark.parametrize("name", ["bubbles", "inputs", "lists", "set", "services", "logic"])
def test_every_message_is_the_same(name: str, tmp_path: Path) -> None:
    _, proof = proved(tmp_path, BLOCKS[name])
    assert [each.what for each in proof.differences] == []


OPERATORS = ["Equal to", "Not equal", "Contains", "Does not contain", "Greater than", "Less than", "Greater or equal to",
             "Less or equal to", "Is set", "Is empty", "Starts with", "Ends with", "Matches regex", "Does not match regex"]  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
@over(1, "value", ["an", "5", "null", "{{Other}}"])
def test_a_condition_decides_as_in_typebot(operator: str, value: str, tmp_path: Path) -> None:
    for number, set_to in enumerate(["'Ann'", "'banana'", "'7'", "5", "['Ann', 'b']", ""]):
        made = export(
            (
                "Begin",
                [custom("X", set_to), custom("Other", "'an'"), condition(("X", operator, value), to="Yes"), text("no")],
            ),
            ("Yes", [text("yes")]),
            variables="X, Other",
        )
        folder = tmp_path / str(number)
        _, proof = proved(folder, made)
        assert proof.unexplained == 0
        assert [each.what for each in proof.differences] == [] or value == "{{Other}}", set_to
