"""What the templates of a turn may do is bounded: no loop over what somebody has sent keeps the engine busy."""

from typing import Any

import pytest

from bot.language.expressions import template_failures
from bot.language.expressions.template_failures import EFFORT, Effort
from bot.language.expressions.templates import Template, TemplateFailed, compile_template
from bot.language.source.problems import Mark, Problems
from tests.talk import Talk

LONG = "Ab " * 21_000
NUMBERS = [*range(9_000)]
MANY = [*range(1_000, 40_000)]
ROWS = [{"sku": f"cup {n}", "count": n, "town": f"Town {n % 7}", "tags": ["a", "b"]} for n in range(300)]
SCOPE: dict[str, Any] = {
    **{
        "numbers": NUMBERS,
        "hundred": [*range(90)],
        "many": MANY,
        "other": [*MANY],
        "few": MANY[:900],
        "long": LONG,
        "rows": ROWS,
    },
    **{"texts": [f"{'a' * 900} {n}" for n in range(5_000)], "record": {str(n): n for n in MANY}, "none": None},
}


def compiled(source: str) -> Template:
    problems = Problems()
    template = compile_template(source, Mark("flows/f.yml", 3, 7), problems)
    assert problems.sorted() == []
    return template


def over(condition: str, items: str = "numbers") -> str:
    """A loop that says nothing, so that no limit of a text's length stops it."""
    return f"{{% for i in {items} %}}{{% if {condition} %}}{{% endif %}}{{% endfor %}}"


@pytest.mark.parametrize(
    "source",
    [
        over("-1 in many"),
        f"{{% for j in hundred %}}{over('-1 in many', 'hundred')}{{% endfor %}}",
        over("'zz' in long"),
        over("many == other"),
        over("[many] == [other]"),
        over("hundred ~ hundred == 'x'"),
        over("long ~ 'a' < long ~ 'b'"),
        over("many + hundred == none"),
        over("many[1:] == none"),
        over("long | upper == 'X'"),
        over("long | split == none"),
        over("long | urlencode == 'x'"),
        over("record | keys == none"),
        over("record | merge(record) == none"),
        over("i + 1 == none or " * 40 + "none"),
        "{{ texts | sort | length }}",
    ],
)
def test_what_would_take_seconds_fails(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_failures, "MOST", template_failures.MOST // 10)
    with pytest.raises(TemplateFailed, match="do too much in one turn: loop over less"):
        compiled(source).render(SCOPE)


@pytest.mark.parametrize(
    "source",
    [
        over("i in few", "few"),
        over("loop.index < rows | length and i.sku | upper != 'CUP' and i.town ~ ', '", "rows"),
        "{% for i in rows %}{{ i.count }} x {{ i.sku | title }} ({{ i.town | replace('Town', 'T') }})\n{% endfor %}",
        f"{{% for j in hundred %}}{over('i.town != j', 'rows[:100]')}{{% endfor %}}",
        "{{ rows | sort('town') | map('sku') | join(', ') | truncate(50) }}",
        "{{ numbers | sort | first }}",
        over("i | number(2) | length > 3", "numbers[:2000]"),
    ],
)
def test_what_flows_do_is_far_from_the_limit(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_failures, "MOST", template_failures.MOST // 3)
    compiled(source).render(SCOPE)


def test_what_holds_a_list_many_times_is_too_long_before_it_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_failures, "MOST", template_failures.MOST // 10)
    nested: Any = "x"
    for _ in range(60):
        nested = [nested, nested]
    for source in ("{{ nested }}", "{{ nested | upper }}", "{{ [nested] | join }}", "{{ nested ~ '' }}"):
        with pytest.raises(TemplateFailed):
            compiled(source).render({"nested": nested})
    with pytest.raises(TemplateFailed):
        compiled("{% for i in [1] %}{% if nested in nested %}{% endif %}{% endfor %}").render({"nested": nested})


def test_a_list_is_gone_through_once_and_counted_each_time() -> None:
    spent, value = Effort(), [["x" * 100] * 10] * 10
    spent.count(value, 1)
    once = template_failures.MOST - spent._left
    spent.count(value, 2)
    assert template_failures.MOST - spent._left == 3 * once


def test_all_templates_of_a_turn_share_what_may_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_failures, "MOST", 600_000)
    loop, turn = compiled(over("i | upper == '1'", "few")), {**SCOPE, EFFORT: Effort()}
    for _ in range(2):
        loop.render(turn)
    with pytest.raises(TemplateFailed, match="in one turn"):
        loop.render(turn)
    loop.render({**SCOPE, EFFORT: Effort()})


def test_a_turn_that_does_too_much_takes_the_errors_of_its_step() -> None:
    talk = Talk("""
flow: main
vars: {numbers: {type: list}, least: {type: integer}, count: {type: integer, value: 0}}
steps:
  round: {branch: [{if: count == 200, then: done}, {else: sort}], set: {count: "{{ count + 1 }}"}, visits: {max: 201, else: end}}
  sort: {set: {least: "{{ numbers | sort | first }}"}, then: round, errors: {else: sorry}}
  done: {say: Done., then: end}
  sorry: {say: That was too much., then: end}
""")
    assert talk.start("main", numbers=[*range(100)]) == ["Done."]
    assert talk.start("main", numbers=[*range(2_000)]) == ["That was too much."]
    assert talk.turn is not None and "too much in one turn" in talk.turn.trace.notes[0]
