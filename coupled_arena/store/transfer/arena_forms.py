"""Votes in the logs and exports of arenas: Open WebUI, compar:IA, FastChat, MTEB, Search, GenAI."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from coupled_arena.store.transfer.vote_form import (
    WORDS,
    Numbered,
    Row,
    VoteForm,
    at,
    each,
    first_of,
    flag,
    hidden,
    items,
    number,
    ordered,
    record,
    renamed,
    text_of,
)

# Open WebUI


def _open_webui(row: Row) -> Iterator[Row]:
    data = record(row.get("data"))
    model, rating = text_of(data.get("model_id")), number(data.get("rating"))
    if rating not in (1, -1) or not model:
        return
    prompt, texts = _open_webui_texts(row)
    shared = {
        "question_id": "/".join(
            text_of(at(row, f"meta.{name}")) for name in ("chat_id", "message_id")
        ).strip("/")
        or row.get("id"),
        "voter": first_of(row, "user_id", "user.id"),
        "prompt": prompt,
        "timestamp": row.get("created_at"),
    }
    siblings = map(text_of, items(data.get("sibling_model_ids")))
    for other in dict.fromkeys(siblings):  # a model that was asked again is there twice
        if other and other != model:
            pair = (model, other) if rating == 1 else (other, model)
            yield ordered(shared, *pair, texts)


def _open_webui_texts(row: Row) -> tuple[Any, dict[str, Any]]:
    """Return the question and the answer of each model, where the export has the chat."""
    messages = record(at(row, "snapshot.chat.chat.history.messages"))
    message = record(messages.get(text_of(at(row, "meta.message_id"))))
    asked = record(messages.get(text_of(message.get("parentId"))))
    replies = [record(messages.get(text_of(child))) for child in items(asked.get("childrenIds"))]
    replies += [message]  # of a model that was asked again the answer that was rated
    named = ((text_of(first_of(reply, "selectedModelId", "model")), reply) for reply in replies)
    return asked.get("content"), {name: reply.get("content") for name, reply in named if name}


# compar:IA

_COMPARIA = {
    "question_id": "conversation_pair_id or id",
    "model_a": "model_a_name or model_a",
    "model_b": "model_b_name or model_b",
    "winner": "chosen_model_name or winner, both_equal",
    "voter": "visitor_id or judge or session_hash",
    "conversation_a": "conversation_a",
    "conversation_b": "conversation_b",
    "timestamp": "timestamp",
    "category": "selected_category",
}
_COMPARIA_COLUMNS = renamed({**_COMPARIA, "winner": "chosen_model_name or winner"})


def _comparia(row: Row) -> Iterator[Row]:
    if flag(row.get("both_equal")):
        row = {**row, "chosen_model_name": "tie"}
    for found in _COMPARIA_COLUMNS(row):
        for side in "ab":
            found[f"conversation_{side}"] = _with_system(
                found[f"conversation_{side}"], row.get(f"system_prompt_{side}")
            )
        yield found


def _with_system(conversation: Any, words: Any) -> Any:
    messages = items(conversation) if text_of(words) else []
    if not messages or at(messages[0], "role") == "system":
        return conversation
    return [{"role": "system", "content": words}, *messages]


def _comparia_reactions(rows: Iterable[Numbered]) -> Iterator[tuple[int, Row | str]]:
    """Yield a vote a question: what was liked beats what was not, as does that beside a dislike."""
    found: dict[str, tuple[int, Row, dict[str, int]]] = {}
    for line, row in rows:
        side = text_of(row.get("model_pos")).lower()
        if side not in ("a", "b"):
            yield line, "model_pos is neither a nor b"
            continue
        question = text_of(row.get("question_id")) or "-".join(
            text_of(row.get(name)) for name in ("conversation_pair_id", "msg_rank")
        )
        made: Row = {
            "question_id": question,
            "model_a": row.get("model_a_name"),
            "model_b": row.get("model_b_name"),
            "voter": first_of(row, "visitor_id", "session_hash"),
            "prompt": row.get("question_content"),
            "timestamp": row.get("timestamp"),
        }
        first, vote, liked = found.setdefault(question, (line, made, {}))
        if line != first:
            yield line, ""
        vote[f"response_{side}"] = row.get("response_content")
        liked[side] = flag(row.get("liked")) - flag(row.get("disliked"))
    for line, vote, liked in found.values():
        ahead = liked.get("a", 0) - liked.get("b", 0)
        if ahead:
            yield line, {**vote, "winner": "model_a" if ahead > 0 else "model_b"}
        elif liked.get("a") and liked.get("b"):
            yield line, {**vote, "winner": "tie" if liked["a"] > 0 else "both_bad"}


# Arenas that write logs

_LOGGED = ("leftvote", "rightvote", "tievote", "bothbad_vote", "bothbadvote")


def _fastchat(row: Row) -> Iterator[Row]:
    if row.get("type") not in _LOGGED:
        return
    states = items(row.get("states"))
    if len(states) != 2:
        raise ValueError("states must be two")
    public = [text_of(name) for name in items(row.get("models"))]
    names = [text_of(at(state, "model_name")) for state in states]
    shown = [re.sub(r"^### Model [AB]: |^<h3>.*?: |</h3>$", "", name).strip() for name in public]
    first, second = (name or other for name, other in zip(names, [*shown, "", ""][:2], strict=True))
    yield {
        "question_id": at(states[0], "conv_id"),
        "model_a": first,
        "model_b": second,
        "winner": WORDS[row["type"]],
        "voter": hidden(row.get("ip")),
        "conversation_a": _messages(states[0]),
        "conversation_b": _messages(states[1]),
        "timestamp": row.get("tstamp"),
    }


def _messages(state: Any) -> list[dict[str, Any]]:
    """Return a conversation of FastChat as messages, without the examples before it."""
    asks = (items(at(state, "roles")) or ["USER"])[0]
    system = text_of(at(state, "system_message"))
    found: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in items(at(state, "messages"))[int(number(at(state, "offset")) or 0) :]:
        speaker, words = items(message)[:2]
        listed = items(words) if isinstance(words, list) else []
        text: Any = (listed or [words])[0]  # others are pictures
        found.append({"role": "user" if speaker == asks else "assistant", "content": text})
    return found


def _mteb(row: Row) -> Iterator[Row]:
    if row.get("type") in _LOGGED:
        yield {
            "question_id": first_of(row, "0_conv_id"),
            "model_a": row.get("0_model_name"),
            "model_b": row.get("1_model_name"),
            "winner": WORDS[row["type"]],
            "voter": hidden(row.get("ip")),
            "prompt": first_of(row, "0_prompt"),
            "timestamp": row.get("tstamp"),
            "category": row.get("task_type"),
        }


def _search_arena(row: Row) -> Iterator[Row]:
    for found in renamed(_SEARCH_ARENA)(row):
        yield {**found, "language": next(iter(items(row.get("languages"))), None)}


_SEARCH_ARENA = {
    "model_a": "model_a",
    "model_b": "model_b",
    "winner": "winner",
    "voter": "judge",
    "conversation_a": "messages_a",
    "conversation_b": "messages_b",
    "turn": "turn",
    "timestamp": "timestamp",
    "language": "languages",
}

_SIDES = {
    "question_id": "id",
    "model_a": "left_model",
    "model_b": "right_model",
    "winner": "vote_type",
    "voter": "judge",
    "prompt": "prompt",
    "timestamp": "tstamp",
}

FORMS = (
    VoteForm(
        "Open WebUI, feedback export",
        ("data.rating", "data.model_id", "data.sibling_model_ids"),
        {
            "question_id": "meta.chat_id and meta.message_id",
            "model_a": "data.model_id and data.sibling_model_ids",
            "winner": "data.rating",
            "voter": "user_id",
            "prompt": "snapshot",
            "timestamp": "created_at",
        },
        each(_open_webui),
        "A vote is a rating of 1 or -1 of an answer beside others, which sibling_model_ids names.",
    ),
    VoteForm(
        "compar:IA, votes",
        ("model_a_name", "model_b_name", "chosen_model_name", "both_equal"),
        _COMPARIA,
        each(_comparia),
        "A vote has a chosen_model_name, or both_equal. Reactions are in a file of their own.",
    ),
    VoteForm(
        "compar:IA, votes with other names",
        ("model_a", "model_b", "winner", "both_equal"),
        _COMPARIA,
        each(_comparia),
        "A vote has a winner, or both_equal. Reactions are in a file of their own.",
    ),
    VoteForm(
        "compar:IA, reactions",
        ("model_a_name", "model_b_name", "model_pos", "liked", "disliked"),
        {
            "question_id": "question_id or conversation_pair_id and msg_rank",
            "model_a": "model_a_name",
            "model_b": "model_b_name",
            "winner": "model_pos, liked, disliked",
            "voter": "visitor_id or session_hash",
            "prompt": "question_content",
            "response_a": "response_content",
            "timestamp": "timestamp",
        },
        _comparia_reactions,
        "A vote is a like or a dislike of one answer, or of both. "
        "Chosen models are in a file of their own.",
    ),
    VoteForm(
        "FastChat, raw logs",
        ("type", "tstamp", "*.model_name"),
        {
            "question_id": "states",
            "model_a": "states",
            "model_b": "states",
            "winner": "type",
            "voter": "ip",
            "conversation_a": "states",
            "timestamp": "tstamp",
        },
        each(_fastchat),
        "A vote is a row of type leftvote, rightvote, tievote or bothbad_vote. "
        "The logs of other days may hold some.",
    ),
    VoteForm(
        "MTEB Arena, raw logs",
        ("type", "0_model_name", "1_model_name"),
        {
            "question_id": "0_conv_id",
            "model_a": "0_model_name",
            "model_b": "1_model_name",
            "winner": "type",
            "voter": "ip",
            "prompt": "0_prompt",
            "timestamp": "tstamp",
            "category": "task_type",
        },
        each(_mteb),
        "A vote is a row of type leftvote, rightvote, tievote or bothbadvote. "
        "The logs of other days may hold some.",
    ),
    VoteForm(
        "Search Arena",
        ("model_a", "model_b", "winner", "messages_a", "messages_b"),
        _SEARCH_ARENA,
        each(_search_arena),
        "A vote has a winner, such as model_a or tie (bothbad).",
    ),
    VoteForm(
        "GenAI-Arena",
        ("left_model", "right_model", "vote_type"),
        _SIDES,
        each(renamed(_SIDES)),
        "A vote has a vote_type, such as leftvote or tievote.",
    ),
)
