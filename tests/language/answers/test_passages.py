"""The search in documents: whatever is asked, what matters is found, in any language, and nothing breaks."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
import yaml

from bot.core.text import estimate
from bot.language.answers.passages import Passage, PassageIndex, cut

PASSAGE = 800
SHOP = """
# Acme Shop

## Returns

A cup can be returned within 30 days. Bring the receipt.

## Hours

We open at nine, Monday to Friday.

## Straßenverkauf

Grüße aus Köln: dort gibt es die Kännchen.

## Pengembalian

Barang dapat dikembalikan dalam 30 hari.

## 退货政策

三十天内可以退货。

## หน้าร้าน

ร้านเปิดเก้าโมงเช้า

## वापसी

वापसी तीस दिन में।
"""
PADDING = "\n".join(f"## Part {n}\n\nPart number {n} is made of steel and has the usual size.\n" for n in range(200))
FEW = 200  # tokens


@cache
def shop() -> PassageIndex:
    return PassageIndex([("shop.md", SHOP + PADDING), ("short.txt", "We are Acme.\n\nSince 1949.\n")])


def found(index: PassageIndex, *texts: str, most: int = FEW) -> list[str]:
    return [passage.text for passage in index.search(texts, most)]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Can I RETURN it?", "returned within 30 days"),
        ("opening hours please", "We open at nine"),
        ("gruss koln kannchen", "Grüße aus Köln"),
        ("bagaimana pengembaliannya", "Barang dapat"),
        ("可以退货吗", "三十天内"),
        ("ร้านเปิดกี่โมง", "ร้านเปิดเก้าโมงเช้า"),
        ("वापसी", "तीस दिन"),
        ("part 117", "Part number 117 "),
    ],
)
def test_the_passage_that_matters_is_found(query: str, answer: str) -> None:
    assert any(answer in text for text in found(shop(), query))


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("## Delivery\nIt takes a day.", "when was it delivered"),
        ("## Delivery\nIt takes a day.", "how is it delivred"),
        ("## Vegetarian dishes\nThere are two.", "do you have veg food"),
        ("## Wi-Fi\nIt is free.", "wifi?"),
        ("## Die Öffnungszeiten\nWir sind ab neun Uhr da, und nur im Sommer.", "wann offnungszeit"),
        ("## Frühstück\nDas gibt es für alle von acht bis zehn.", "Frühstückszeiten"),
        ("## Die Speisekarte\nSie liegt auf dem Tisch, und wir bringen sie Ihnen.", "habt ihr eine Karte"),
        ("## Devoluciones\nTiene 30 días para que las haga.", "quiero hacer una devolucion"),
        ("## Retours\nJe kunt het binnen 30 dagen terugsturen, of naar ons brengen.", "retour sturen"),
        ("## Доставка\nМы привезем это за два дня.", "сколько стоит доставки"),
    ],
)
def test_a_word_is_found_in_another_form_with_a_slip_and_as_a_part_of_one(document: str, query: str) -> None:
    padding = "\n\n".join(f"## Part {n}\nOf steel, with number {n}." for n in range(20))
    index = PassageIndex([("a.md", document), ("b.md", padding)])
    assert index.search([query], FEW)[0].file == "a.md"


def test_synonyms_that_are_listed_find_each_other_in_any_form() -> None:
    index = PassageIndex(
        [("a.md", "# Refunds\nWithin 5 days.\n# Pets\nNo.")], [["refund", "money back"], ["dog", "pet"]]
    )
    assert found(index, "i want my money back") == ["Within 5 days."]
    assert found(index, "and dogs?") == ["No."]
    assert found(index, "money") == []


def test_what_was_asked_before_counts_less() -> None:
    assert found(shop(), "and the hours?", "can I return it?")[0].startswith("We open at nine")
    assert found(shop(), "and on friday?", "hours")[0].startswith("We open at nine")
    assert found(shop(), "is that so?", "returned")[0].startswith("A cup can be returned")


def test_the_best_passage_comes_first_and_a_heading_counts_more_than_a_text() -> None:
    index = PassageIndex([("a.md", "# Hotel\nThe hours are long.\n\n# Hours\nFrom nine to five, and longer.")])
    assert found(index, "hours")[0] == "From nine to five, and longer."


def test_no_more_than_the_tokens_that_were_granted() -> None:
    texts = found(shop(), "part number steel usual size")
    assert len(texts) > 5
    assert sum(map(estimate, texts)) <= FEW


def test_what_hardly_matches_is_left_out() -> None:
    assert len(found(shop(), "the receipt", most=1000)) == 1
    assert found(shop(), "is it what you have", most=1000) == []


@pytest.mark.parametrize(
    "query",
    [
        *('"', "'", '" OR "', "a* AND (b", "NEAR(cup hours)", "words: cup", "-cup", "^cup", "{", "cup +", "NOT"),
        *("", " ", "\x00", "\ud800", "🎈", "\u0301", "'; DROP TABLE passages; --", "x" * 100_000, "w " * 100_000),
        " ".join(f"word{n}" for n in range(10_000)),
    ],
)
def test_no_text_breaks_the_search(query: str) -> None:
    assert all(isinstance(text, str) for text in found(shop(), query))


def texts_of(document: str) -> list[str]:
    return [passage.text for passage in cut("a.md", document)]


def test_short_paragraphs_share_a_passage_and_long_ones_are_cut_between_words() -> None:
    assert texts_of("one\n\ntwo\r\n\r\nthree") == ["one\n\ntwo\n\nthree"]
    parts = texts_of("lorem ipsum " * 500)
    assert max(map(len, parts)) <= PASSAGE
    assert " ".join(parts).split() == ["lorem", "ipsum"] * 500
    assert "".join(texts_of("x" * 5000)) == "x" * 5000
    assert texts_of(" \n\n") == []


def test_a_passage_knows_its_page_and_its_headings() -> None:
    first, second = cut("b/terms_of_use.pdf", "# Acme\n## Returns\nBring it.\n\f\nAnd the receipt.")
    assert first == Passage("b/terms_of_use.pdf", 1, 1, ("Acme", "Returns"), "Bring it.")
    assert (second.page, second.headings, second.text) == (2, ("Acme", "Returns"), "And the receipt.")
    assert (first.title, second.id) == ("Returns", "b/terms_of_use.pdf#2")
    assert next(cut("b/terms_of_use.txt", "All.")).title == "terms of use"


def test_a_heading_without_a_text_is_a_passage() -> None:
    assert [each.headings for each in cut("a.md", "# Open 9 to 5\n# Closed on Sunday")] == [
        ("Open 9 to 5",),
        ("Closed on Sunday",),
    ]


# What people ask


KNOWLEDGE = Path(__file__).parent / "knowledge"
IN_A_PROMPT = 1500  # tokens


@cache
def asked(trade: str) -> dict[str, Any]:
    """The questions, by set, and the words that the trade's author lists as the same."""
    found: dict[str, Any] = yaml.safe_load((KNOWLEDGE / f"{trade}.yml").read_text())
    return found


@cache
def answers(trade: str) -> PassageIndex:
    return PassageIndex([(f"{trade}.md", (KNOWLEDGE / f"{trade}.md").read_text())], asked(trade)["synonyms"])


def missed(trade: str, queries: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """The questions that the passages of a prompt do not answer; ``queries`` has what is searched for each."""
    titles = {text: [each.title for each in answers(trade).search([queries[text]], IN_A_PROMPT)] for text in wanted}
    return [text for text, title in wanted.items() if title not in titles[text]]


@pytest.mark.parametrize(
    ("trade", "questions", "most_missed"),
    [
        ("guesthouse", "tuned_on", 0),
        ("guesthouse", "tuned_on_too", 0),
        ("guesthouse", "tuned_on_last", 0),
        ("guesthouse", "tuned_on_since", 0),
        ("driving_school", "held_out", 5),
        ("animal_clinic", "held_out", 12),
    ],
)
def test_the_passages_of_a_prompt_answer_what_people_ask(trade: str, questions: str, most_missed: int) -> None:
    wanted: dict[str, str] = asked(trade)[questions]
    assert len(wanted) == 28
    assert len(found := missed(trade, {text: text for text in wanted}, wanted)) <= most_missed, found


@pytest.mark.parametrize("trade", ["driving_school", "animal_clinic"])
def test_all_questions_are_answered_if_a_model_has_written_what_to_search_for(trade: str) -> None:
    wanted, written = asked(trade)["held_out"], asked(trade)["rewritten"]
    assert wanted.keys() == written.keys()
    assert missed(trade, {text: f"{written[text]}\n{text}" for text in wanted}, wanted) == []


def test_an_everyday_word_counts_less_than_one_that_says_what_is_meant() -> None:
    index = PassageIndex([("a.md", "# Bus\nIt comes at nine.\n\n# Room\nIt has towels inside.")])
    assert [each.title for each in index.search(["towels come"], FEW)] == ["Room", "Bus"]


def test_a_search_in_two_thousand_passages_takes_milliseconds() -> None:
    text = (KNOWLEDGE / "guesthouse.md").read_text()
    index = PassageIndex([(f"{n}.md", text.replace("the", f"the{n}")) for n in range(20)])
    assert len(index.passages) >= 1800
    spent = []
    for question in asked("guesthouse")["tuned_on"]:
        began = perf_counter()
        index.search([question], IN_A_PROMPT)
        spent.append(perf_counter() - began)
    assert sorted(spent)[14] < 0.05  # 0.002 on an idle machine
