"""How much one voter, and one address, may do in a minute; and what an address is called.

Counted in memory, and nowhere else. `core.guards` has the settings, `store.tables.probation` and
`store.tables.exclusions` what is done with votes that are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from coupled_arena.core.errors import LimitError
from coupled_arena.core.guards import UNLIMITED, LimitSettings
from coupled_arena.core.language import N_, _

_MINUTE, _HOUR = 60.0, 3600.0
_NAMES = 10  # with all wrong passwords that one may have, from one address
MOST_KEYS = 50_000  # voters, or addresses, of one window: 20 MB where each has done little
_VOTES_OF_ONE = N_(
    "At most {n} votes a minute are accepted from one voter: press again in {seconds} s."
)
_VOTES_FROM_ONE = N_(
    "At most {n} votes a minute are accepted from one address: press again in {seconds} s."
)
_QUESTIONS_OF_ONE = N_(
    "At most {n} questions a minute of one visitor are answered: ask again in {seconds} s."
)
_QUESTIONS_FROM_ONE = N_(
    "At most {n} questions a minute from one address are answered: ask again in {seconds} s."
)
_VOTERS_FROM_ONE = N_(
    "At most {n} voters an hour can vote from one address: press again in {seconds} s."
)
_SIGN_INS_OF_ONE = N_(
    "At most {n} wrong passwords a minute are accepted for one name: try again in {seconds} s."
)
_SIGN_INS_FROM_ONE = N_(
    "At most {n} wrong passwords a minute are accepted from one address: try again in {seconds} s."
)


class Window:
    """How often each of many has done something within the last seconds.

    It holds as many moments as there are within these, and forgets whoever has none. Of more than
    `MOST_KEYS` the one that has been quiet for longest is forgotten.

    Parameters
    ----------
    most : int
        0: no limit, and nothing is kept.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self._seconds = seconds
        self._done: OrderedDict[str, deque[float]] = OrderedDict()  # who was last is at the end

    def __len__(self) -> int:
        return len(self._done)

    def wait(self, key: str, now: float) -> float:
        """Return for how many seconds somebody has to wait; 0 where they need not."""
        done = self._done.get(key)
        if not self.most or done is None or len(done) < self.most:
            return 0.0
        return max(0.0, done[0] + self._seconds - now)

    def add(self, key: str, now: float) -> None:
        """Count once more for somebody, who need not wait."""
        if not self.most:
            return
        done = self._done.setdefault(key, deque(maxlen=self.most))
        done.append(now)
        self._done.move_to_end(key)
        self._forget(now)

    def take_back(self, key: str, moment: float) -> None:
        """Count once less: nothing came of what was counted at this moment."""
        done = self._done.get(key)
        if done and moment in done:
            done.remove(moment)
            if not done:
                del self._done[key]

    def _forget(self, now: float) -> None:
        while True:
            oldest = next(iter(self._done))
            if self._done[oldest][-1] + self._seconds > now and len(self._done) <= MOST_KEYS:
                return
            del self._done[oldest]


class Voters:
    """Which voters were heard from each address within the last hour.

    Parameters
    ----------
    most : int
        Different ones of one address; 0: no limit, and nothing is kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._voters: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()

    def wait(self, address: str, voter: str, now: float) -> float:
        """Return for how many seconds a voter has to wait; 0 where they are known, or need not."""
        voters = self._voters.get(address)
        if not self.most or voters is None or voter in voters or len(voters) < self.most:
            return 0.0
        return max(0.0, next(iter(voters.values())) + _HOUR - now)

    def add(self, address: str, voter: str, now: float) -> None:
        """Hear a voter, who need not wait."""
        if not self.most:
            return
        voters = self._voters.setdefault(address, OrderedDict())
        voters[voter] = now
        voters.move_to_end(voter)
        while next(iter(voters.values())) + _HOUR <= now:
            voters.popitem(last=False)
        self._voters.move_to_end(address)
        while len(self._voters) > 1 and (len(self._voters) > MOST_KEYS or self._over(now)):
            self._voters.popitem(last=False)

    def _over(self, now: float) -> bool:
        """Whether nobody of the address that has been quiet for longest was heard in the hour."""
        oldest = next(iter(self._voters.values()))
        return next(reversed(oldest.values())) + _HOUR <= now


@dataclass(frozen=True)
class _Rule:
    """What one kind of deed may cost: windows by voter and by address, and what is told."""

    voter: Window
    address: Window
    of_one: str
    from_one: str
    voters: Voters


class Limits:
    """What may be done, and when to go on.

    Parameters
    ----------
    settings : LimitSettings, optional
        No limits without them.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self, settings: LimitSettings = UNLIMITED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._counting = threading.Lock()
        most = settings.sign_ins_by_address
        self._sign_ins = Window(most, _MINUTE)  # of a name from an address
        self._all_sign_ins = Window(_NAMES * most, _MINUTE)
        self._votes = _Rule(
            Window(settings.votes_by_voter, _MINUTE),
            Window(settings.votes_by_address, _MINUTE),
            *(_VOTES_OF_ONE, _VOTES_FROM_ONE),
            Voters(settings.voters_by_address),
        )
        self._questions = _Rule(
            Window(settings.questions_by_voter, _MINUTE),
            Window(settings.questions_by_address, _MINUTE),
            *(_QUESTIONS_OF_ONE, _QUESTIONS_FROM_ONE),
            Voters(0),  # whoever only asks changes no board
        )

    def vote(self, voter: str, address: str) -> AbstractContextManager[None]:
        """Count a vote, unless the block that casts it raises an error.

        Raises
        ------
        LimitError
            There are too many; the block is not entered.
        """
        return self._counted(self._votes, voter, address)

    def question(self, voter: str, address: str) -> AbstractContextManager[None]:
        """Count a question, as `vote` counts votes."""
        return self._counted(self._questions, voter, address)

    @contextmanager
    def sign_in(self, name: str, address: str) -> Generator[None]:
        """Count a password that is wrong: unless the block that checks it ends without an error.

        They are counted for each name by itself, so that nobody locks out others at their address.

        Raises
        ------
        LimitError
            There were too many; the block is not entered.
        """
        one = hashlib.sha256(f"{address} {name}".encode(errors="replace")).hexdigest()
        with self._counting:
            now = self._clock()
            if wait := self._all_sign_ins.wait(address, now):
                raise _refusal(_SIGN_INS_FROM_ONE, self._all_sign_ins.most, wait)
            if wait := self._sign_ins.wait(one, now):
                raise _refusal(_SIGN_INS_OF_ONE, self._sign_ins.most, wait)
            self._all_sign_ins.add(address, now)
            self._sign_ins.add(one, now)
        yield
        with self._counting:
            self._all_sign_ins.take_back(address, now)
            self._sign_ins.take_back(one, now)

    @contextmanager
    def _counted(self, rule: _Rule, voter: str, address: str) -> Generator[None]:
        with ExitStack() as unless_it_ends:
            with self._counting:
                now = self._clock()
                self._count(rule, voter, address, now)
            unless_it_ends.callback(self._take_back, rule, voter, address, now)
            yield
            unless_it_ends.pop_all()

    def _count(self, rule: _Rule, voter: str, address: str, now: float) -> None:
        # The address first: whoever makes up voters must not fill the memory with their names.
        if wait := rule.voters.wait(address, voter, now):
            raise _refusal(_VOTERS_FROM_ONE, rule.voters.most, wait)
        if wait := rule.address.wait(address, now):
            raise _refusal(rule.from_one, rule.address.most, wait)
        if wait := rule.voter.wait(voter, now):
            raise _refusal(rule.of_one, rule.voter.most, wait)
        rule.voters.add(address, voter, now)
        rule.address.add(address, now)
        rule.voter.add(voter, now)

    def _take_back(self, rule: _Rule, voter: str, address: str, moment: float) -> None:
        with self._counting:
            rule.address.take_back(address, moment)
            rule.voter.take_back(voter, moment)


def _refusal(text: str, most: int, wait: float) -> LimitError:
    return LimitError(_(text).format(n=most, seconds=math.ceil(wait)))


# Where votes come from, so that many from one place are seen, and the place is not.

_DIGITS = 16


class Origins:
    """Keyed hashes of addresses, with a key of this process that is kept nowhere else.

    Whoever has the database cannot try addresses until one fits, nor tell that a place of today
    is one of yesterday.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, address: str) -> str:
        """Return what an address is called as long as the server runs."""
        return hmac.new(self._key, address.encode(), hashlib.sha256).hexdigest()[:_DIGITS]
