"""Everything that can go wrong in a way a person can mend.

    ArenaError
    ├── SettingsError      a configuration or catalog entry is wrong
    ├── ModelError         a model's weights or tokenizer cannot be used
    ├── PromptError        a prompt that cannot be answered as it stands
    │   └── PromptLengthError   it is longer than a model's context
    ├── StoreError         the database cannot be opened, read or written
    │   ├── StoreBusyError another process owns the database
    │   ├── StoreLostError the database is no longer where it was
    │   └── BackupError    the backup cannot be reached
    ├── BattleError        a battle that does not exist or cannot be replayed
    ├── VoteError          a vote that is refused
    ├── ScoreError         a table of scores that cannot be used
    │   └── TooFewScoresError   it leaves too little to compare
    ├── TaskError          a benchmark's data cannot be read, or its answers not be scored
    ├── LimitError         more than one may do in a minute
    └── JudgeError         a judge that cannot be asked
        └── NoAnswerError  one question that a judge did not answer

Each message is one sentence or two: what is wrong, and what to do. The command line prints it
and exits with 1; the web app shows it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ArenaError(Exception):
    """Base of all errors that a person can mend."""


class SettingsError(ArenaError):
    """A configuration or catalog entry is wrong."""


class ModelError(ArenaError):
    """A model's weights or tokenizer cannot be used."""


class PromptError(ArenaError):
    """A prompt that cannot be answered as it stands."""


class PromptLengthError(PromptError):
    """A conversation that leaves no room for an answer in a model's context."""


class StoreError(ArenaError):
    """The database cannot be opened, read or written."""


class StoreBusyError(StoreError):
    """Another process owns the database."""


class StoreLostError(StoreError):
    """The database was moved, deleted or exchanged while it was open."""


class StoreFileError(StoreError):
    """The database's file cannot be read or written, for what its disk says."""


class UnknownFormError(StoreError):
    """A file or folder to be imported that has nothing of what is known.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path = path


class BackupError(StoreError):
    """The backup cannot be reached or written at the moment."""


class BattleError(ArenaError):
    """A battle that does not exist or cannot be replayed."""


class VoteError(ArenaError):
    """A vote that is refused."""


class ScoreError(ArenaError):
    """A table of scores that cannot be used."""


class TooFewScoresError(ScoreError):
    """Scores that leave too little to compare."""


class TaskError(ArenaError):
    """A benchmark's data cannot be read, or its answers cannot be scored safely."""


class LimitError(ArenaError):
    """More than one may do in a minute."""


class JudgeError(ArenaError):
    """A judge that cannot be asked.

    Attributes
    ----------
    brief : str
        The same without what its server says, which may repeat a question: for the app's log.
    """

    def __init__(self, text: str, brief: str | None = None) -> None:
        super().__init__(text)
        self.brief = brief or text


class NoAnswerError(JudgeError):
    """One question that a judge did not answer; later, or on another question, it may."""


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn a value that the statistics refuse into an error that a person can mend."""
    try:
        yield
    except ValueError as error:
        raise ArenaError(str(error)) from error
