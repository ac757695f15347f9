"""The switches: one for each point on which the chat-completion specification is silent or says two things."""

from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True)
class Behaviour:
    """How the emulated service behaves where the specification does not say; any of it may be changed at any time.

    Requests:

    * ``tool_choice``: taken as a ``string`` (or an object), as an ``array``, or as ``any`` of these.
    * ``unknown_model``: the error for a model that is not in the list.

    Answers:

    * ``reasoning``: reasoning blocks are ``removed``, as they should be, or ``left`` in the content.
    * ``usage``: whole answers have it. ``usage_in_stream``: ``never``, in the ``last_chunk``, or in a chunk of its
      own without choices (``own_chunk``).
    * ``finish_reason``: in a last chunk with an ``empty_delta``, in the ``last_delta`` with content, or ``missing``.
    * ``done``: the stream ends with ``[DONE]``.
    * ``plugin_chat``: the shape of its answer. ``completion``: as a chat response; ``message``:
      ``{message: {role, content}}``; ``reply``: ``{reply: text}``; ``data``: ``{data: {content: text}}``.

    Errors:

    * ``named_by``: the error's name stands in ``type`` (and the kind of a used up quota in ``code``), or in ``code``.
    * ``reset_in``: a number of ``seconds`` or a ``text`` such as ``2h 15m``; ``reset_in_place``: in the ``error``
      object or beside it in the ``body``.
    """

    tool_choice: Literal["any", "string", "array"] = "any"
    unknown_model: Literal["invalid_request_error", "model_not_in_package", "server_error"] = "invalid_request_error"

    reasoning: Literal["removed", "left"] = "removed"
    usage: bool = True
    usage_in_stream: Literal["never", "last_chunk", "own_chunk"] = "never"
    finish_reason: Literal["empty_delta", "last_delta", "missing"] = "empty_delta"
    done: bool = True
    plugin_chat: Literal["completion", "message", "reply", "data"] = "completion"

    named_by: Literal["type", "code"] = "type"
    reset_in: Literal["seconds", "text"] = "seconds"
    reset_in_place: Literal["error", "body"] = "error"
