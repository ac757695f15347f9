"""Addresses in a text, and the ways to disguise them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.language.steps.output_guard import foreign_link, links_in, without_tappable_words

SHOP = ["shop.example"]


def test_every_way_to_write_an_address_is_seen() -> None:
    text = "https://a.example/x, (http://b.example) www.c.example ftp://d.example e-f.com/path, g.shop! mail h@i.com"
    found = list(links_in(text))
    assert found[:4] == ["https://a.example/x", "http://b.example", "www.c.example", "ftp://d.example"]
    assert "e-f.com/path" in found
    assert "g.shop" in found


def test_an_address_cannot_hide_behind_other_letters() -> None:
    for text in ("x" * 40 + "http://evil.example", "../evil.com", "and/evil.com", "(evil.com)", "EVIL.COM"):
        assert foreign_link(text, (), ()) is not None, text


def test_no_text_takes_long_to_read() -> None:
    for piece in (
        "a",
        "a.",
        "a-",
        "http://",
        "www.",
        "a/",
        "a" * 60 + ".",
        "1.",
        "看",
        "a。",
        "data:",
        "a.a@",
        "http://[",
        " ",
    ):
        text = piece * (50_000 // len(piece))
        assert foreign_link(text, ["a.a"], ()) is None or "." in piece or "/" in piece


def test_ordinary_writing_has_no_addresses() -> None:
    text = "Costs 3.50, e.g. at 9.30 a.m. today...yes.No. Version 1.2.3, see file.txt"
    assert list(links_in(text)) == []


def test_a_host_allows_its_subdomains_and_nothing_that_only_ends_alike() -> None:
    assert foreign_link("https://a.shop.example/x", ["shop.example"], ()) is None
    assert foreign_link("https://notshop.example/x", ["shop.example"], ()) == "https://notshop.example/x"
    assert foreign_link("https://shop.example:80@evil.com", ["shop.example"], ()) is not None
    assert foreign_link("https://evil.com\\@shop.example", ["shop.example"], ()) is not None


def test_a_known_address_may_be_written_with_or_without_its_scheme() -> None:
    known = ["https://shop.example/map"]
    assert foreign_link("shop.example/map", (), known) is None
    assert foreign_link("https://www.shop.example/map/.", (), known) is None
    assert foreign_link("https://shop.example/other", (), known) is not None


@pytest.mark.parametrize(
    "text",
    [
        "evil\u200b.com", "e\u00advil.com", "evil.c\u2060om", "shop.example\u200b.evil.com",  # what cannot be seen
        "https://evil.com\u200b.shop.example", "\u202emoc.live", "https://evil.com\u2028.shop.example",
        "аpple.com", "х\u0301shop.example/x", "https://аshop.example/a", "看аshop.example/x",  # letters that look alike
        "evil．com", "evil。com", "evil｡com", "ｅｖｉｌ．ｃｏｍ", "ｈｔｔｐｓ：／／evil.example",  # wide ones
        "https://evil.com／.shop.example", "https://shop.example\u2024evil.com", "https://shop.example。evil.com",
        "münchen.de", "пример.рф", "例え.jp", "xn--80ak6aa92e.com", "evil.xn--p1ai", "看看evil.com吧",  # other scripts
        "evil.me", "evil.id", "t.me", "evil.co.id", "EVIL.IO", "my_evil.com", "_evil.com_", "evil.example:80/x",
        "http://1.2.3.4", "1.2.3.4/login", "8.8.8.8", "http://2130706433/", "http://0x7f.1", "http://[2001:db8::1]/x",
        "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "mailto:a@evil.com", "tel:+6281", "file:/etc",
        "javascript://shop.example/%0aalert(1)", "ftp://shop.example", "intent://shop.example", "//evil.com",
        "https:\\\\evil.example", "https:/\\evil.com", "https:\nevil.com",
        "[shop.example](https://evil.example)", "[shop.example](//evil.com/a)", "*evil*.com", "`evil`.com", "ev~~il.com",
        "https://evil.com/?x=://shop.example", "https://evil.com/://shop.example/a", "https://evil.com#https://shop.example",
        "https://evil.com%2f.shop.example", "https://evil.com%23.shop.example", "https://evil.com,.shop.example",
        "https://evil.com;@shop.example", "https://shop.example@evil.com", "https://shop.example%40evil.com",
        "https://evil.com看shop.example", "evil.com看shop.example/x", "shop.example.evil.com",
    ],
)  # fmt: skip
def test_a_foreign_address_is_seen_however_it_is_disguised(text: str) -> None:
    assert foreign_link(f"Look: {text} today", SHOP, ["https://shop.example/map"]) is not None


@pytest.mark.parametrize(
    "text",
    [
        "https://shop.example/a", "HTTPS://WWW.SHOP.EXAMPLE/", "https://a.shop.example", "https://shop.example./",
        "shop.example:443/x", "*shop.example/x*", "_https://shop.example_", "[shop.example](https://shop.example/a)",
        "https://shop.example/~budi_s*x", "shop.example/a?to=b.c", "请访问shop.example/x 谢谢", "请看https://shop.example。谢谢",
    ],
)  # fmt: skip
def test_an_allowed_address_is_let_through_however_it_is_written(text: str) -> None:
    assert foreign_link(text, SHOP, ()) is None


@pytest.mark.parametrize(
    "text",
    [
        "你好。我是助手，请看价格。谢谢", "Mail budi.id@gmail.com or it.is.me@mail.example", "Tel:0812345 File:report Note:this",
        "Node.js costs Rp.50.000 at 9.00-17.00, No.telp 08123, Jl.Sudirman 12", "Yes…No. Okay.It is so",
        "Version 1.2.3, 10.000.000.000, 300.1.2.3", "किताब.यहाँ है", "a/b and/or c:d e::f",
    ],
)  # fmt: skip
def test_ordinary_writing_of_many_languages_has_no_addresses(text: str) -> None:
    assert foreign_link(text, (), ()) is None


@pytest.mark.parametrize("ending", ["fyi", "bot", "zip", "mov", "foo", "llc", "xn--p1ai", "भारत", "한국", "google"])
def test_every_ending_of_the_public_suffix_list_is_known(ending: str) -> None:
    assert foreign_link(f"See evil.{ending} now", SHOP, ()) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Thanks.it is in facts.md", "Thanks. it is in facts. md"),
        ("We use ASP.NET", "We use ASP. NET"),
        ("Run main.py or go to t.me", "Run main. py or go to t. me"),
        ("Mail me at ann@b.it", "Mail me at ann@b.it"),
        ("See evil.com, www.evil.it, evil.it/x, a.evil.it", "See evil.com, www.evil.it, evil.it/x, a.evil.it"),
    ],
)
def test_words_that_a_chat_app_would_make_tappable_get_a_space(text: str, said: str) -> None:
    assert without_tappable_words(text, SHOP, ()) == said


def test_an_address_that_may_be_sent_stays_whole() -> None:
    assert without_tappable_words("See shop.it and my.me", ["shop.it"], ["https://my.me/"]) == "See shop.it and my.me"


@settings(deadline=None)
@given(st.text(alphabet="evil.com看。\u200b*_~/\\:@%[]() \n-", max_size=60))
def test_an_address_in_the_open_is_seen_in_any_surroundings(around: str) -> None:
    assert foreign_link(f"{around} https://evil.example {around}", SHOP, ()) is not None


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_text_however_odd_is_more_than_read(text: str) -> None:
    foreign_link(text, SHOP, [text])
