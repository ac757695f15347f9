"""A streamed answer comes whole however its bytes are cut, and what is not whole is never taken for it."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.values import Usage
from bot.services.ai.ai_client import Events
from bot.services.ai.ai_errors import (
    CompletionError,
    CutStream,
    EmptyAnswer,
    ExcessiveCalls,
    NotTheService,
    ProviderError,
    QuotaExceeded,
    ServiceTimedOut,
)
from bot.services.ai.chat_completion import Completion, ToolCall
from bot.services.request_errors import Ambiguous, DeadlinePassed, Silent
from tests.services.ai.recorded import (
    ANSWER,
    CALLED,
    LAST,
    MODEL,
    REQUEST,
    SPOKEN,
    TEXTS,
    broken,
    call,
    events,
    piece,
    said,
    stream,
)

EVENT_BYTES = 1_048_576
CRLF = SPOKEN.replace(b"\n", b"\r\n")
CR = SPOKEN.replace(b"\n", b"\r")
RECORDED = pytest.mark.parametrize("recorded", [SPOKEN, CRLF, CR, CALLED], ids=["LF", "CRLF", "CR", "calls"])


def read(*chunks: bytes) -> tuple[str, Completion]:
    answer = stream(chunks)
    text = "".join(answer)
    assert text == answer.completion.text
    return text, answer.completion


def failure(*chunks: bytes) -> CompletionError:
    with pytest.raises(CompletionError) as raised:
        list(stream(chunks))
    return raised.value


@RECORDED
def test_every_cut_in_two_gives_the_same_answer(recorded: bytes) -> None:
    whole = read(recorded)
    for at in range(len(recorded) + 1):
        assert read(recorded[:at], recorded[at:]) == whole


@RECORDED
def test_byte_by_byte_gives_the_same_answer(recorded: bytes) -> None:
    assert read(*(bytes([byte]) for byte in recorded)) == read(recorded)


@given(st.lists(st.integers(0, len(CRLF)), max_size=12))
def test_any_cut_gives_the_same_answer(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(CRLF)]
    assert read(*(CRLF[a:b] for a, b in pairwise(edges)))[0] == ANSWER


@RECORDED
def test_every_end_before_its_time_gives_the_whole_answer_or_a_cut_stream(recorded: bytes) -> None:
    text, whole = read(recorded)
    outcomes = set()
    for at in range(len(recorded)):
        answer = stream([recorded[:at]])
        try:
            assert "".join(answer) == text
            assert (answer.completion.calls, answer.completion.finish) == (whole.calls, whole.finish)
            outcomes.add("whole")
        except CutStream:
            outcomes.add("cut")
    assert outcomes == {"whole", "cut"}


@RECORDED
@pytest.mark.parametrize("error", [Ambiguous("cut"), Silent("silent"), DeadlinePassed("late")], ids=str)
def test_every_breakdown_gives_the_whole_answer_or_says_what_happened(recorded: bytes, error: Ambiguous) -> None:
    text, _ = read(recorded)
    for at in range(len(recorded)):
        answer = stream(broken(recorded[:at], error))
        try:
            assert "".join(answer) == text
        except ServiceTimedOut as failed:
            assert type(error) is not Ambiguous and failed.idle == isinstance(error, Silent)
        except CutStream:
            assert type(error) is Ambiguous


def test_text_is_given_as_it_comes_without_thoughts_and_without_empty_pieces() -> None:
    assert list(stream([SPOKEN])) == ["Yes – until ", "six 🙂", "\n\n1. cafe\n"]


def test_the_answer_has_everything_the_service_says() -> None:
    answer = stream([SPOKEN])
    list(answer)
    assert answer.completion == Completion("c1", MODEL, ANSWER, (), "stop", Usage(MODEL, 12, 9))


def test_tool_calls_are_put_together_by_their_index() -> None:
    _, completion = read(CALLED)
    assert completion.finish == "tool_calls"
    assert completion.text == "One moment."
    assert completion.calls == (
        ToolCall("call_a", "orders.find", '{"number": "17"}'),
        ToolCall("call_b", "route", '{"to": "café"}'),
    )


def test_tool_calls_without_an_index_are_each_whole() -> None:
    whole = [{"function": {"name": name, "arguments": {"n": 1}}} for name in ("one", "two")]
    _, completion = read(events(*(piece({"tool_calls": [item]}) for item in whole), piece({}, "stop")))
    assert completion.calls == (ToolCall("call_0", "one", '{"n": 1}'), ToolCall("call_1", "two", '{"n": 1}'))
    assert completion.finish == "tool_calls"


def test_calls_under_one_index_with_ids_of_their_own_are_several() -> None:
    _, completion = read(
        events(
            piece(call(0, '{"n": 1}', id="a", name="one")),
            piece(call(0, '{"n"', id="b", name="two")),
            piece(call(0, ": 2}", id="b")),
            piece({}, "tool_calls"),
        )
    )
    assert completion.calls == (ToolCall("a", "one", '{"n": 1}'), ToolCall("b", "two", '{"n": 2}'))


@pytest.mark.parametrize("written", ['{}{"n": 1}', '```json\n{"n": 1}\n```', '```{"n": 1}```', ' {"n": 1}\n'])
def test_arguments_as_some_servers_write_them_are_the_same(written: str) -> None:
    _, completion = read(events(piece(call(0, written, id="a", name="one")), piece({}, "tool_calls")))
    assert completion.calls == (ToolCall("a", "one", '{"n": 1}'),)


def test_a_call_without_arguments_has_none() -> None:
    _, completion = read(events(piece(call(0, "{}", id="a", name="one")), piece({}, "tool_calls")))
    assert completion.calls == (ToolCall("a", "one", "{}"),)


def test_a_tools_name_may_come_in_pieces_or_with_each_of_them() -> None:
    cut = events(piece(call(0, "{", name="orders.")), piece(call(0, "}", name="find")), piece({}, "tool_calls"))
    again = events(piece(call(0, "{", name="route")), piece(call(0, "}", name="route")), piece({}, "tool_calls"))
    assert [read(data)[1].calls[0].name for data in (cut, again)] == ["orders.find", "route"]


def test_calls_under_one_id_are_told_apart_and_one_without_a_name_is_none() -> None:
    heads: list[dict[str, str]] = [
        {"id": "same", "name": "one"},
        {"id": "same", "name": "two"},
        {"id": "call_4", "name": "three"},
        {"id": "x"},
        {"name": "four"},
    ]
    _, completion = read(events(*(piece(call(at, "{}", **head)) for at, head in enumerate(heads)), piece({}, "stop")))
    assert [each.name for each in completion.calls] == ["one", "two", "three", "four"]
    assert len({each.id for each in completion.calls}) == 4


@pytest.mark.parametrize("flood", [
    [piece(call(index, "{}", name="find")) for index in range(10_000)],
    [piece({"tool_calls": [{"function": {"name": "find", "arguments": "{}"}}] * 10_000})],
    [piece(call(0, "x" * 10_000, name="find"))] * 1000,
    [piece({"tool_calls": [{"function": {"name": "find", "arguments": {"a": "x" * 100_000}}}]})],
])  # fmt: skip
def test_calls_beyond_what_an_answer_can_hold_are_refused_as_soon_as_they_are_seen(
    flood: list[dict[str, object]],
) -> None:
    assert isinstance(failure(*(events(each) for each in flood)), ExcessiveCalls)


@pytest.mark.parametrize("calls", [7, "x", [7, None, []], [{"function": 7}], [{"index": "x", "function": {"name": ["find"]}}],
                                   [{"index": -1, "id": {}, "function": {"arguments": [1]}}]])  # fmt: skip
def test_calls_of_no_shape_are_none(calls: object) -> None:
    text, completion = read(events(*said("Yes"), piece({"tool_calls": calls}), *LAST))
    assert (text, completion.calls) == ("Yes", ())


def test_an_answer_ends_with_the_mark_alone() -> None:
    _, completion = read(events(*said("Yes"), "data: [DONE]"))
    assert completion.finish == "stop"


def test_usage_may_come_alone_after_the_last_word() -> None:
    used = piece(None, usage={"prompt_tokens": 3, "completion_tokens": 1})
    _, completion = read(events(*said("Yes"), piece({}, "stop"), used, "data: [DONE]"))
    assert completion.usage == Usage(MODEL, 3, 1)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "3"}])
def test_missing_usage_is_estimated_and_marked(usage: object) -> None:
    _, completion = read(events(*said("<think>long thought</think>", "Yes"), piece({}, "stop", usage=usage)))
    assert completion.usage.estimated
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > len("Yes")  # thoughts are paid for


def test_what_follows_the_mark_is_not_read() -> None:
    answer = stream(broken(SPOKEN, Ambiguous("cut")))
    assert "".join(answer) == ANSWER


def test_comments_names_and_ids_of_events_are_passed_over() -> None:
    noise = ": ping", "event: message", "id: 7", "retry: 10", "data"
    assert read(events(*noise, *said("Yes"), *noise, *LAST))[0] == "Yes"


@pytest.mark.parametrize("empty", ["data:", "data: ", "data", "data:\r\ndata:"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=["LF", "CR", "CRLF"])
def test_an_event_without_data_is_a_sign_of_life(empty: str, end: str) -> None:
    data = events(empty, *said("Ye"), empty, *said("s"), *LAST, empty, end=end)
    assert read(data)[0] == read(*(bytes([byte]) for byte in data))[0] == "Yes"


def test_an_event_may_have_several_lines_and_no_space_after_the_colon() -> None:
    text = json.dumps(piece({"content": "Yes"}), indent=1).replace("\n", "\r\ndata:")
    data = f"\ufeffdata:{text}\r\n\r\ndata:[DONE]\r\n\r\n".encode()
    assert read(data)[0] == read(*(bytes([byte]) for byte in data))[0] == "Yes"


def test_an_answer_that_was_cut_at_its_length_says_so() -> None:
    assert read(events(*said("Yes, un"), piece({}, "length")))[1].finish == "length"


def test_half_a_character_waits_for_its_other_half() -> None:
    halves = [f'data: {{"choices":[{{"delta":{{"content":"{half}"}}}}]}}' for half in ("a\\ud83d", "\\ude42b\\ud800c")]
    text, _ = read(events(*halves, piece({}, "stop")))
    assert text == "a🙂b\ufffdc"


def test_nul_characters_reach_nobody() -> None:
    assert read(events(*said("a\0b"), *LAST))[0] == "ab"


def test_characters_that_control_a_terminal_or_turn_the_writing_reach_nobody() -> None:
    odd = "a\x1b[31mb\x07c\u202ed\u2066e\u200ef\x9bg\r\n\th\u2028i"
    assert read(events(*said(*odd), *LAST))[0] == "a[31mbcdefg\n\th\ni"


def test_no_tag_hides_behind_such_characters() -> None:
    assert read(events(*said("<th\x07ink>Hm.</thi\u202enk>Yes"), *LAST))[0] == "Yes"


def test_text_may_come_as_parts() -> None:
    parts = [{"type": "text", "text": "Ye"}, {"type": "text", "text": "s"}, {"type": "image"}]
    assert read(events(piece({"content": parts}), *LAST))[0] == "Yes"


def test_other_choices_than_the_first_are_passed_over() -> None:
    two = piece({"content": "Yes"})
    two["choices"].append({"index": 1, "delta": {"content": "No"}})
    assert read(events(two, *LAST))[0] == "Yes"


@pytest.mark.parametrize("first", [0, 1])
def test_of_choices_that_alternate_only_the_one_that_came_first_is_taken(first: int) -> None:
    def of(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]}

    other = 1 - first
    pieces = [of(first, "Ye"), of(other, "N"), of(first, "s"), of(other, "o", "length"), of(first, "", "stop")]
    text, answer = read(events(*pieces, "data: [DONE]"))
    assert (text, answer.finish) == ("Yes", "stop")
    assert isinstance(failure(events(*pieces[:4])), CutStream)  # the end of another choice is not its end


@pytest.mark.parametrize("indexes", [(0, "1"), (0, 1.5), ("0", "1"), (0, [1])])
def test_an_index_of_any_type_tells_choices_apart(indexes: tuple[Any, Any]) -> None:
    of = [
        {"choices": [{"index": n, "delta": {"content": text}}]} for n, text in zip(indexes, ("Yes", "No"), strict=True)
    ]
    end = {"choices": [{"index": indexes[0], "delta": {}, "finish_reason": "stop"}]}
    assert read(events(*of, end))[0] == "Yes"


@pytest.mark.parametrize(
    "pieces",
    [
        said("", "  \n"),
        said("<think>all of it"),
        [piece({})],
        [piece({"content": None})],
        said("\u200b\u2060\n", "\u2800\u00ad\U000e0041"),
        said("<tool_call>{}</tool_call>"),
    ],
    ids=["white space", "thoughts", "nothing", "null", "invisible", "a call in words"],
)
def test_an_answer_of_nothing_is_empty(pieces: list[dict[str, object]]) -> None:
    error = failure(events(*pieces, *LAST))
    assert isinstance(error, EmptyAnswer)
    assert error.usage == Usage(MODEL, 12, 9)


def test_an_error_within_the_stream_is_the_services() -> None:
    quota = {"error": {"type": "quota_exceeded", "code": "5h", "message": "used up", "reset_in": "2h"}}
    error = failure(events(*said("Ye"), quota, "data: [DONE]"))
    assert isinstance(error, QuotaExceeded)
    assert error.kind == "5h"
    assert error.usage is not None and error.usage.completion_tokens == 1


def test_an_unknown_error_within_the_stream_is_the_providers() -> None:
    error = failure(events({"error": "upstream went away"}))
    assert isinstance(error, ProviderError)
    assert error.message == "upstream went away"
    assert error.usage is None  # nothing had come


@pytest.mark.parametrize("data", ["data: oops", "data: [1]", "data: " + "[" * 100_000], ids=["text", "list", "deep"])
def test_an_event_that_is_no_object_is_not_the_services(data: str) -> None:
    assert isinstance(failure(events(data, *said("Yes"), *LAST)), NotTheService)


def test_a_stream_without_a_choice_is_not_the_services() -> None:
    assert isinstance(failure(events({"status": "ok"}, "data: [DONE]")), NotTheService)


@pytest.mark.parametrize("part", [b"x" * 65536, b"data: x\n" * 8192], ids=["a line", "lines"])
def test_an_endless_event_is_refused(part: bytes) -> None:
    feeding = Events()
    with pytest.raises(NotTheService, match=f"more than {EVENT_BYTES} bytes"):
        for _ in range(EVENT_BYTES // len(part) + 1):
            list(feeding.feed(part))


def test_many_events_are_not_an_endless_one() -> None:
    feeding = Events()
    line = b": " + b"x" * 1000 + b"\n\n"
    assert [found for _ in range(EVENT_BYTES // 500) for found in feeding.feed(line)] == []


def test_a_whole_answer_is_taken_although_a_stream_was_asked_for() -> None:
    body = {"id": "c1", "choices": [{"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}]}
    answer = stream([json.dumps(body).encode()], headers={"Content-Type": "application/json; charset=utf-8"})
    assert list(answer) == ["Yes"]
    assert answer.completion.text == "Yes"


def test_usage_can_be_asked_for_in_the_middle() -> None:
    answer = stream([SPOKEN])
    texts = iter(answer)
    next(texts)
    spoken = "".join(TEXTS[:4])
    assert answer.usage == REQUEST.estimate(spoken)


def test_a_page_is_not_the_services() -> None:
    answer = stream([b"<html>Log in</html>"], headers={"Content-Type": "text/html"})
    with pytest.raises(NotTheService):
        list(answer)


def test_a_part_of_the_content_that_is_no_text_is_not_the_answer() -> None:
    parts = [{"type": "reasoning", "text": "Say no."}, {"type": "text", "text": "Yes"}, {"text": "."}]
    text, _ = read(events(piece({"content": parts}), *LAST))
    assert text == "Yes."
