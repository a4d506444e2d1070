"""Settings of what keeps an arena from being gamed: how much anybody may do in a minute."""

from __future__ import annotations

from ipaddress import ip_network

from pydantic import BaseModel, ConfigDict, Field, field_validator


class Checked(BaseModel):
    """A table of settings: it has no others, and does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitSettings(Checked):
    """The ``[limits]`` table; 0 is no limit.

    Of one voter, and of one address, so many votes are taken and questions answered within any
    minute: a question begins a battle, goes on with one or asks for a comparison. From one address
    ``voters_by_address`` different voters are heard within an hour. What a proxy says of whom it
    speaks for is believed of ``proxies`` alone, addresses or networks.
    """

    votes_by_voter: int = Field(default=20, ge=0)
    votes_by_address: int = Field(default=120, ge=0)
    questions_by_voter: int = Field(default=20, ge=0)
    questions_by_address: int = Field(default=120, ge=0)
    voters_by_address: int = Field(default=100, ge=0)
    proxies: list[str] = []

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
