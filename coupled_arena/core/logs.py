"""The log of the program, as lines for people or as JSON, one line an event.

Neither form has what an exception says, which may repeat what somebody wrote: its kind and where it
came from. At the level DEBUG people's form has all of it.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

LogForm = Literal["text", "json"]
_ATTRIBUTE = "arena_line"
_MOST = 6  # places of an exception that are told, the innermost ones


def write_log_as(form: LogForm) -> None:
    """Give the lines that the process writes to stderr this form."""
    lines = JsonLines() if form == "json" else TextLines("%(message)s")
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler:  # no other's, such as a test's
            handler.setFormatter(lines)
    logging.captureWarnings(form == "json")  # else they are lines of another form


def keep_parts(record: logging.LogRecord) -> None:
    """Keep with a record what its JSON says of it: a pipe passes on nothing but its message."""
    setattr(record, _ATTRIBUTE, _parts(record))


class TextLines(logging.Formatter):
    """Messages as they are; of an exception its kind and places."""

    def formatException(self, ei: Any) -> str:
        """Return where an exception came from, without what it says."""
        if logging.getLogger("coupled_arena").isEnabledFor(logging.DEBUG):
            return super().formatException(ei)
        return f"  {_kind(ei[1])} at {', '.join(_places(ei[1]))}"

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's lines."""
        record.exc_text = None  # of another formatter
        text = super().format(record)
        return text.partition("\n")[0] if record.name == "asyncio" else text


class JsonLines(logging.Formatter):
    """One JSON object a record: ``time``, ``level``, ``event``, ``message``, ``logger``, fields.

    ``event`` stays the same however often it happens; what changes is under ``fields``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            **(getattr(record, _ATTRIBUTE, None) or _parts(record)),
            "logger": record.name,
        }
        return json.dumps(line, ensure_ascii=False)


def _parts(record: logging.LogRecord) -> dict[str, Any]:
    message = record.getMessage()
    if record.name == "asyncio":  # its next lines show tasks, with what was in their hands
        message = message.partition("\n")[0]
    named = record.args if isinstance(record.args, dict) else {}
    fields = {name: _plain(value) for name, value in named.items()}
    if record.exc_info and (error := record.exc_info[1]):
        fields |= {"error": _kind(error), "places": _places(error)}
    event = _template(record) if record.args else message
    return {"event": event, "message": message, "fields": fields}


def _template(record: logging.LogRecord) -> str:
    """Return the words that stay the same; where there are none, the place in the program."""
    words = str(record.msg)
    return words if words.strip("%s .:") else f"{record.module}.{record.funcName}"


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _kind(error: BaseException) -> str:
    return type(error).__name__


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-_MOST:]
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
