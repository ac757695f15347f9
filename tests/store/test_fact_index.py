"""Facts: whatever is asked, what matters of the documents is found, in any language, and nothing breaks."""

import threading

import pytest

from bot.core.text import estimate
from bot.store.fact_index import FactIndex, passages

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


@pytest.fixture(scope="module")
def facts() -> FactIndex:
    return FactIndex({"shop": SHOP + PADDING, "short": "We are Acme.\n\nSince 1949.\n"})


def test_short_documents_are_given_whole_whatever_is_asked(facts: FactIndex) -> None:
    assert facts.search(["short"], "?", 100) == ["We are Acme.\n\nSince 1949."]
    assert FactIndex({"a": "one", "b": "two", "c": " "}).search(["c", "b", "a"], "", 100) == ["two", "one"]


@pytest.mark.parametrize(
    ("query", "found"),
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
def test_the_passage_that_matters_is_found(facts: FactIndex, query: str, found: str) -> None:
    assert any(found in passage for passage in facts.search(["shop"], query, FEW))


def test_a_passage_says_under_which_headings_it_stands(facts: FactIndex) -> None:
    (passage,) = facts.search(["shop"], "opening nine monday friday", 30)
    assert passage == "# Acme Shop\n## Hours\nWe open at nine, Monday to Friday."


def test_passages_come_in_the_order_of_the_documents(facts: FactIndex) -> None:
    found = facts.search(["short", "shop"], "hours monday; returned receipt; since 1949", FEW)
    places = [("1949" in passage, "Returns" in passage, "Hours" in passage) for passage in found]
    assert places == [(True, False, False), (False, True, False), (False, False, True)]


def test_no_more_than_the_tokens_that_were_granted(facts: FactIndex) -> None:
    found = facts.search(["shop"], "part number steel usual size", FEW)
    assert len(found) > 5
    assert sum(map(estimate, found)) <= FEW


def test_what_hardly_matches_is_left_out(facts: FactIndex) -> None:
    found = facts.search(["shop"], "the receipt", 1000)
    assert len(found) == 1


def test_only_the_named_documents_are_searched(facts: FactIndex) -> None:
    assert facts.search(["short"], "returns", 3) == []
    assert facts.search(["gone"], "returns", FEW) == []
    assert facts.search([], "returns", FEW) == []


@pytest.mark.parametrize(
    "query",
    [
        *('"', "'", '" OR "', "a* AND (b", "NEAR(cup hours)", "words: cup", "-cup", "^cup", "{", "cup +", "NOT"),
        *("", " ", "\x00", "\ud800", "🎈", "\u0301", "'; DROP TABLE passages; --", "x" * 100_000, "w " * 100_000),
        " ".join(f"word{n}" for n in range(10_000)),
    ],
)
def test_no_text_breaks_the_search(facts: FactIndex, query: str) -> None:
    assert all(isinstance(passage, str) for passage in facts.search(["shop"], query, FEW))


def test_many_threads_search_at_once(facts: FactIndex) -> None:
    found: list[list[str]] = []
    search = [lambda: found.append(facts.search(["shop"], "hours", FEW)) for _ in range(8)]
    threads = [threading.Thread(target=one) for one in search]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(one == found[0] for one in found)


def test_short_paragraphs_share_a_passage_and_long_ones_are_cut_between_words() -> None:
    assert list(passages("one\n\ntwo\r\n\r\nthree")) == ["one\n\ntwo\n\nthree"]
    cut = list(passages("lorem ipsum " * 500))
    assert max(map(len, cut)) <= PASSAGE
    assert " ".join(cut).split() == ["lorem", "ipsum"] * 500
    assert "".join(passages("x" * 5000)) == "x" * 5000


def test_no_heading_is_lost() -> None:
    assert list(passages("# Open 9 to 5\n# Closed on Sunday")) == ["# Open 9 to 5", "# Closed on Sunday"]
    assert list(passages("# Title")) == ["# Title"]
    assert list(passages(" \n\n")) == []
