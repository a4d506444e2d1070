"""Settings of what keeps an arena from being gamed: how much anybody may do, and who signs in."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from coupled_arena.core.choices import Reveals
from coupled_arena.core.passwords import is_hash

_SHORTEST_KEY = 32  # characters


class Checked(BaseModel):
    """A table of settings: it has no others, and does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitSettings(Checked):
    """The ``[limits]`` table; 0 is no limit.

    So many votes and questions are taken from one voter, and from one address, within any minute. A
    question begins a battle, goes on with one or asks for a comparison. From one address,
    ``voters_by_address`` different voters may vote within an hour. ``sign_ins_by_address`` bounds
    wrong passwords for one name within a minute; for all names together ten times as many. What a
    proxy says of whom it speaks for is believed of ``proxies`` alone, addresses or networks.
    """

    votes_by_voter: int = Field(default=60, ge=0)
    votes_by_address: int = Field(default=600, ge=0)
    questions_by_voter: int = Field(default=60, ge=0)
    questions_by_address: int = Field(default=600, ge=0)
    voters_by_address: int = Field(default=300, ge=0)
    sign_ins_by_address: int = Field(default=10, ge=0)
    proxies: list[str] = Field(default=[])

    @field_validator("proxies", mode="before")
    @classmethod
    def _words(cls, proxies: object) -> object:
        """Take one text as words, which is all that the environment can say."""
        return proxies.split() if isinstance(proxies, str) else proxies

    @field_validator("proxies")
    @classmethod
    def _networks(cls, proxies: list[str]) -> list[str]:
        """Refuse what is no address: a name would be believed of nobody, and none be told."""
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise ValueError(
                    f"{error}: name an address such as 10.0.0.1, or a network"
                ) from None
        return proxies


UNLIMITED = LimitSettings.model_validate(
    dict.fromkeys(LimitSettings.model_fields.keys() - {"proxies"}, 0)
)
"""Of nobody anything is counted."""


class VoteSettings(Checked):
    """The ``[votes]`` table: votes of who has cast fewer than ``probation`` are kept, and wait."""

    probation: int = Field(default=0, ge=0)


REPEAT_SHARE = 0.05
"""Of the items of a person, how many come twice, where nothing is said."""


class AnnotateSettings(Checked):
    """The ``[annotate]`` table: how people vote on stored battles.

    ``reveal`` says when names, boards and battles open to a person. That is once their share is
    done (``end``), after each vote (``each``) or ``never``; admins always see them. A battle wants
    ``votes_each`` votes; without a number it wants one of everybody. Where names stay hidden, a
    share ``repeat_share`` of a person's battles comes a second time, with its sides exchanged.
    """

    reveal: Reveals = Reveals.END
    votes_each: int | None = Field(default=None, ge=1)
    repeat_share: float | None = Field(default=None, ge=0, le=0.5)

    @model_validator(mode="after")
    def _blind_repeats(self) -> Self:
        """Refuse to repeat what somebody has seen with names: the second vote is not blind."""
        if self.repeat_share and self.reveal is Reveals.EACH:
            raise ValueError("names are told after each vote, so no battle can be repeated blind")
        return self

    @property
    def repeats(self) -> float:
        """The share in force."""
        if self.repeat_share is not None:
            return self.repeat_share
        return 0.0 if self.reveal is Reveals.EACH else REPEAT_SHARE


class NamingSettings(Checked):
    """The ``[naming]`` table: what else tells which model wrote an answer.

    ``names`` do wherever they stand, ``words``, which mean other things, too, where an answer
    introduces itself. ``#`` in a name stands for a digit.
    """

    names: list[str] = Field(default=[])
    words: list[str] = Field(default=[])

    @field_validator("names", "words", mode="before")
    @classmethod
    def _listed(cls, names: object) -> object:
        """Take one text as names with commas between them, all that the environment can say."""
        if not isinstance(names, str):
            return names
        return [name.strip() for name in names.split(",") if name.strip()]

    @field_validator("names", "words")
    @classmethod
    def _long_enough(cls, names: list[str]) -> list[str]:
        for name in names:
            if not re.search(r"[^\W\d_].*[^\W_]|\d.*[^\W\d_]", name):
                raise ValueError(f"{name!r} is no name to look for: give two letters or more")
        return names


class AccessSettings(Checked):
    """The ``[access]`` table: who signs in, and who may decide which votes count.

    ``users`` are names with what `coupled-arena password` made of their passwords; ``admins`` some
    of these, or names on the hub. If ``required``, nobody else sees the page. Pseudonyms of who
    signs in are made with ``key``; with one in a file beside the database where none is given.
    """

    sign_in: Literal["none", "password", "hub"] = "none"
    required: bool = True
    users: dict[str, str] = Field(default={}, repr=False)
    admins: list[str] = Field(default=[])
    key: SecretStr | None = None

    @field_validator("admins", mode="before")
    @classmethod
    def _words(cls, admins: object) -> object:
        """Take one text as words, which is all that the environment can say."""
        return admins.split() if isinstance(admins, str) else admins

    @field_validator("users", mode="before")
    @classmethod
    def _pairs(cls, users: object) -> object:
        """Take one text as words, each a name, `=` and what stands for the password."""
        if not isinstance(users, str):
            return users
        return {name: word for name, _, word in (each.partition("=") for each in users.split())}

    @field_validator("users")
    @classmethod
    def _no_plain_text(cls, users: dict[str, str]) -> dict[str, str]:
        if not all(map(is_hash, users.values())):
            raise ValueError("what stands for a password is made by `coupled-arena password`")
        return users

    @field_validator("key")
    @classmethod
    def _long_enough(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < _SHORTEST_KEY:
            raise ValueError(f"a key has {_SHORTEST_KEY} characters or more, drawn at random")
        return key

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if self.sign_in == "password" and not self.users:
            raise ValueError("to sign in with a password somebody must have one: name users")
        if self.sign_in == "none" and self.admins:
            raise ValueError("admins sign in: set sign_in to password or hub")
        if self.sign_in == "password" and not {*self.admins} <= self.users.keys():
            raise ValueError("admins are among the users")
        return self
