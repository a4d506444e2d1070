"""A fake language model with known answers: a Markov chain over a tiny vocabulary."""

from __future__ import annotations

import torch

from coupled_arena.generation.vocabulary import make_vocabulary


class MarkovModel:
    """Next-token logits are row `last token` of a table.

    Parameters
    ----------
    table : tensor, shape (v, v)
    words : list of str
        Spelling of each id.
    stops : iterable of int
    """

    device = torch.device("cpu")

    def __init__(self, name, table, words, stops=(), *, context_length=1000, batchable=True):
        self.name = self.reading = name
        self.table = table
        self.context_length = context_length
        self.batchable = batchable
        self.vocabulary = make_vocabulary(words, [word.encode() for word in words], stops)
        self.calls = []  # (what, number of rows after it), of all batches in order
        self.batches = []

    def start_reading(self, prompt):
        return MarkovReading(self, prompt)

    def start_batch(self, most_tokens=None):
        self.batches.append(MarkovBatch(self))
        return self.batches[-1]


class MarkovReading:
    """A prompt that is read in chunks of 512."""

    def __init__(self, model, prompt):
        self.model = model
        self.left = len(prompt)

    @property
    def next(self):
        return min(512, self.left)

    def read(self):
        self.model.calls.append(("read", self.next))
        self.left -= self.next


class MarkovBatch:
    def __init__(self, model):
        self.model = model
        self.histories = []
        self.logits = torch.zeros((0, model.table.shape[1]))

    def add(self, prompts, read=None):
        for prompt in set(map(tuple, prompts)) & set(read or {}):
            while read[prompt].left:
                read[prompt].read()
        self.histories += [list(prompt) for prompt in prompts]
        self._done("add")

    def advance(self, tokens):
        assert tokens.shape == (len(self.histories),)
        for history, token in zip(self.histories, tokens.tolist(), strict=True):
            history.append(token)
        self._done("advance")

    def keep(self, rows):
        self.histories = [self.histories[row] for row in rows]
        self._done("keep")

    def _done(self, what):
        last = torch.tensor([history[-1] for history in self.histories], dtype=torch.int64)
        self.logits = self.model.table[last]
        self.model.calls.append((what, len(self.histories)))


def chain(words, transitions, *, name="fake", stops=(), **options):
    """Build a model whose next word is certain: `transitions` maps each word to the next."""
    table = torch.full((len(words), len(words)), -torch.inf)
    for before, after in transitions.items():
        table[words.index(before), words.index(after)] = 0.0
    return MarkovModel(name, table, words, [words.index(stop) for stop in stops], **options)


def random_chain(words, seed, *, name="fake", stops=(), **options):
    """Build a model with random logits."""
    generator = torch.Generator().manual_seed(seed)
    table = 1.5 * torch.randn(len(words), len(words), generator=generator)
    return MarkovModel(name, table, words, [words.index(stop) for stop in stops], **options)
