"""Vocabularies: noise keys by bytes, and text from tokens as it comes."""

from __future__ import annotations

import functools
import hashlib
import itertools
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from coupled_arena.core.errors import ModelError
from coupled_arena.generation.vocabulary import (
    CONTROL,
    END,
    REPEATED,
    TEXT,
    make_vocabulary,
    read_tokenizer,
    token_key,
)
from coupled_arena.generation.weights import local_folder

MARK = "\N{REPLACEMENT CHARACTER}"


def test_key_of_hello():
    assert token_key(TEXT, b"Hello") == 0x2E54E5C55DAACC98
    assert hashlib.blake2b(b"\0Hello", digest_size=8).hexdigest() == "98ccaa5dc5e5542e"


@pytest.mark.parametrize(
    ("kind", "number"), [(TEXT, 0), (CONTROL, 1), (END, 2), (REPEATED, 3)], ids=str
)
def test_the_kind_is_part_of_the_key(kind, number):
    digest = hashlib.blake2b(bytes([number]) + b"x", digest_size=8).digest()
    assert token_key(kind, b"x") == int.from_bytes(digest, "little")


def unsigned(vocabulary):
    return vocabulary.keys.view(np.uint64).tolist()


def test_keys_of_every_kind_of_outcome():
    names = ["Hello", "<|im_end|>", "a", "a'", "a''", None, None]
    spellings = [b"Hello", None, b"a", b"a", b"a", None, None]
    vocabulary = make_vocabulary(names, spellings, [1])
    assert vocabulary.keys.dtype == np.int64
    assert unsigned(vocabulary) == [
        0x2E54E5C55DAACC98,
        token_key(CONTROL, b"<|im_end|>"),
        token_key(TEXT, b"a"),
        token_key(REPEATED, b"a\x01\x00\x00\x00"),
        token_key(REPEATED, b"a\x02\x00\x00\x00"),
        token_key(CONTROL, b"<unnamed 5>"),
        token_key(CONTROL, b"<unnamed 6>"),
        token_key(END, b""),
    ]
    assert vocabulary.end == 7
    assert vocabulary.stops == {1}


def of_pieces(pieces, stops=(), **options):
    return make_vocabulary([repr(piece) for piece in pieces], list(pieces), stops, **options)


@given(st.lists(st.binary(max_size=3) | st.none(), max_size=30))
def test_repeated_spellings_never_share_a_key(pieces):
    vocabulary = make_vocabulary([f"name {i}" for i in range(len(pieces))], pieces, [])
    assert len(set(unsigned(vocabulary))) == len(pieces) + 1


@given(
    st.sets(st.binary(min_size=1, max_size=3), min_size=1, max_size=10),
    st.sets(st.binary(min_size=1, max_size=3), min_size=1, max_size=10),
)
def test_two_vocabularies_share_noise_on_exactly_what_they_share(first, second):
    one, two = of_pieces(sorted(first)), of_pieces(sorted(second, reverse=True))
    shared = set(unsigned(one)) & set(unsigned(two))
    assert shared == {token_key(TEXT, p) for p in first & second} | {token_key(END, b"")}


def test_the_end_has_one_key_whatever_the_stops():
    ends = {
        unsigned(of_pieces([b"a", b"b"], [0]))[-1],
        unsigned(of_pieces([b"c"], []))[-1],
        unsigned(make_vocabulary(["</s>"], [None], [0]))[-1],
    }
    assert ends == {token_key(END, b"")}


def test_the_fingerprint_is_that_of_the_keys():
    one = of_pieces([b"a", b"b"], [0])
    assert one.fingerprint == of_pieces([b"a", b"b"], [1]).fingerprint  # stops are no keys
    assert one.fingerprint != of_pieces([b"b", b"a"], [0]).fingerprint


def test_a_control_token_and_a_text_token_of_one_name_differ():
    vocabulary = make_vocabulary(["<s>", "<s>"], [None, b"<s>"], [])
    assert len(set(unsigned(vocabulary))) == 3


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=MARK), max_size=30)


@given(texts, st.data())
def test_any_cutting_into_bytes_decodes_to_the_text(text, data):
    """It never shows a mark, never waits for more than the character under way."""
    whole = text.encode()
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=30).map(sorted))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in itertools.pairwise(edges)]
    decoder = of_pieces(pieces).decoder()
    shown, fed = "", b""
    for token, piece in enumerate(pieces):
        shown += decoder.feed(token)
        fed += piece
        assert shown == fed.decode(errors="ignore")
    assert shown + decoder.close() == text


def test_control_tokens_show_nothing_and_do_not_break_a_character():
    vocabulary = make_vocabulary(["a", "b", "c"], [b"\xe2\x82", None, b"\xac"], [])
    assert vocabulary.text([1, 0, 1, 2, 1]) == "€"


@pytest.mark.parametrize("tail", [b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98"], ids=bytes.hex)
def test_an_unfinished_character_leaves_one_mark_at_the_end(tail):
    vocabulary = of_pieces([b"ab", tail])
    decoder = vocabulary.decoder()
    assert decoder.feed(0) + decoder.feed(1) == "ab"
    assert decoder.close() == MARK
    assert vocabulary.text([0, 1]) == "ab" + MARK


def test_bytes_that_are_no_text_show_marks_and_decoding_goes_on():
    assert of_pieces([b"a\xff", b"b"]).text([0, 1]) == f"a{MARK}b"


def test_a_first_space_is_stripped_once_where_the_tokenizer_adds_it():
    vocabulary = of_pieces([b" a", b" ", b"b"], strips_first_space=True)
    assert vocabulary.text([0, 0, 1, 2]) == "a a b"
    assert vocabulary.text([1, 1, 2]) == " b"
    # An answer that was begun goes on in the midst of a text.
    assert vocabulary.text([0, 2], begun=True) == " ab"
    assert vocabulary.text([2, 0]) == "b a"


# Real and built tokenizers


@pytest.fixture(scope="module")
def smol_tokenizer(demo_catalog, weights_cache):
    return AutoTokenizer.from_pretrained(local_folder(demo_catalog["SmolLM2-135M"], weights_cache))


@pytest.fixture(scope="module")
def smol(smol_tokenizer):
    return read_tokenizer(smol_tokenizer, len(smol_tokenizer), [smol_tokenizer.eos_token_id])


SAMPLES = [
    "Hello, world!",
    "Grüße aus Köln — 5 °C, 3½ µm, naïve café",
    "Ελληνικά, русский, עברית, العربية, हिन्दी, ไทย",
    "日本語のテキストと漢字。中文也可以,還有繁體字。한국어 문장입니다.",
    "😀👩‍👩‍👧‍👦🏳️‍🌈🇳🇱 \N{COMBINING ACUTE ACCENT}e\u0301",  # joined emoji, combining marks
    "def f(x):\n\treturn {'a': [1, 2.5e-3]}  # comment\r\n\n\n",
    "  leading, trailing   and    inner spaces  ",
    "∑_{i=0}^{∞} x²/√2 ≤ ∫ƒ(t)dt 𝔸𝕓𝒸",
    "\x00\x01\x7f\u200b\ufeff\u2028 control and invisible",
    "<b>&amp;</b> C:\\temp\\new 'quotes' “curly” `back`",
]


def varied_texts(count):
    """Return the samples and random mixtures of them and of every plane of Unicode."""
    rng = random.Random(2)
    ranges = [(0x20, 0x7F), (0xA0, 0x24F), (0x370, 0x5FF), (0x3040, 0x9FFF), (0x1F300, 0x1FAFF)]
    made = [*SAMPLES, ""]
    while len(made) < count:
        pieces = []
        for _ in range(rng.randrange(1, 8)):
            sample = rng.choice(SAMPLES)
            start = rng.randrange(len(sample))
            pieces.append(sample[start : start + rng.randrange(1, 12)])
            pieces += [chr(rng.randrange(*rng.choice(ranges))) for _ in range(3)]
        made.append("".join(pieces))
    return made


def test_smollm2_texts_come_back_exactly(smol, smol_tokenizer):
    for text in varied_texts(200):
        assert smol.text(smol_tokenizer(text).input_ids) == text


def test_smollm2_vocabulary(smol, smol_tokenizer):
    assert smol.end == 49152
    (hello,) = smol_tokenizer("Hello").input_ids
    assert smol.spellings[hello] == b"Hello"
    assert unsigned(smol)[hello] == 0x2E54E5C55DAACC98
    end = smol_tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert smol.spellings[end] is None
    assert unsigned(smol)[end] == token_key(CONTROL, b"<|im_end|>")
    single_bytes = {spelling for spelling in smol.spellings if spelling and len(spelling) == 1}
    assert {bytes([byte]) for byte in range(0x20, 0x7F)} <= single_bytes
    assert not smol.strips_first_space


def test_an_output_layer_wider_than_the_tokenizer(smol, smol_tokenizer):
    wide = read_tokenizer(smol_tokenizer, 49152 + 8, [2])
    assert wide.end == 49152 + 8
    assert wide.spellings[49152:] == (None,) * 8
    assert unsigned(wide)[:49152] == unsigned(smol)[:49152]
    assert wide.text([49152, 49159]) == ""
    assert len(set(unsigned(wide))) == 49152 + 9


def test_added_tokens_show_their_content_unless_special(smol_tokenizer):
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(smol_tokenizer.backend_tokenizer.to_str())
    )
    tokenizer.add_tokens([AddedToken("é shown", special=False), AddedToken("<h>", special=True)])
    vocabulary = read_tokenizer(tokenizer, len(tokenizer), [])
    assert vocabulary.spellings[-2:] == ("é shown".encode(), None)


SPACE = "\N{LOWER ONE EIGHTH BLOCK}"


def sentencepiece(decoder, normalizer):
    """Build a small BPE tokenizer with byte fallback, of the kind Llama 2 and Gemma have."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += [SPACE, *"abcdefghijklmnopqrstuvwxyz.é", "th", "the", f"{SPACE}the", f"{SPACE}a"]
    merges = [("t", "h"), ("th", "e"), (SPACE, "the"), (SPACE, "a")]
    vocabulary = {name: number for number, name in enumerate(names)}
    model = models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.decoder = normalizer, decoder
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def llama_like():
    replace = decoders.Replace(SPACE, " ")
    steps = [replace, decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    spaces = [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    return sentencepiece(decoders.Sequence(steps), normalizers.Sequence(spaces))


def gemma_like():
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    return sentencepiece(decoders.Sequence(steps), normalizers.Replace(" ", SPACE))


def metaspace_like():
    steps = [decoders.ByteFallback(), decoders.Metaspace(SPACE, prepend_scheme="always")]
    spaces = [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    return sentencepiece(decoders.Sequence(steps), normalizers.Sequence(spaces))


@pytest.mark.parametrize("make", [llama_like, gemma_like, metaspace_like])
def test_sentencepiece_decodes_as_its_own_tokenizer(make):
    tokenizer = make()
    vocabulary = read_tokenizer(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    for text in ["the cat", " a the", "a", "", "日本 the é 😀.", *varied_texts(100)]:
        ids = tokenizer(text).input_ids
        assert vocabulary.text(ids) == tokenizer.decode(ids, skip_special_tokens=True)
        if SPACE not in text:
            assert vocabulary.text(ids) == text
    assert vocabulary.spellings[3 + 0x0A] == b"\n"
    assert vocabulary.spellings[:3] == (None, None, None)


@pytest.mark.parametrize("make", [llama_like, gemma_like, metaspace_like])
def test_added_words_are_spelled_as_their_tokenizer_decodes_them(make):
    """Gemma's runs of spaces are among these, written as SentencePiece writes spaces."""
    tokenizer = make()
    words = [SPACE * 3, "<table>"]
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    vocabulary = read_tokenizer(tokenizer, len(tokenizer), [])
    assert vocabulary.spellings[-2:] == (b"   ", b"<table>")
    ids = [*tokenizer("a").input_ids, len(tokenizer) - 2, len(tokenizer) - 1]
    assert vocabulary.text(ids) == tokenizer.decode(ids, skip_special_tokens=True)


def unigram():
    """Build what XGLM and mT5 have: no bytes to fall back on, and a score for each word."""
    words = [SPACE, f"{SPACE}the", "the", "th", *"abcdefghijklmnopqrstuvwxyz.", "é", f"{SPACE}a"]
    table = [("<unk>", 0.0), *((word, -float(at)) for at, word in enumerate(words))]
    built = Tokenizer(models.Unigram(table, unk_id=0))
    built.decoder = decoders.Metaspace(SPACE, prepend_scheme="always")
    return PreTrainedTokenizerFast(tokenizer_object=built, unk_token="<unk>", eos_token="</s>")


@given(st.lists(st.integers(1, 30), max_size=12))
def test_words_without_bytes_to_fall_back_on_decode_as_the_tokenizer_does(ids):
    tokenizer = unigram_tokenizer()
    vocabulary = read_tokenizer(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    assert vocabulary.text(ids) == tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    assert vocabulary.spellings[0] is None


@functools.cache
def unigram_tokenizer():
    return unigram()


@given(st.lists(st.integers(259, 290), max_size=12))
def test_sentencepiece_decodes_any_drawn_words(ids):
    """A model may draw what no text encodes to, such as a word without its space first."""
    tokenizer = drawn_tokenizer()
    vocabulary = read_tokenizer(tokenizer, len(tokenizer), [])
    assume(all(i < len(tokenizer) for i in ids))
    assert vocabulary.text(ids) == tokenizer.decode(ids)


@functools.cache
def drawn_tokenizer():
    return llama_like()


def test_unknown_spellings_are_refused():
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    tokenizer.decoder = decoders.WordPiece()
    wordpiece = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    with pytest.raises(ModelError, match="choose another model"):
        read_tokenizer(wordpiece, 3, [])
    without = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
    with pytest.raises(ModelError, match="choose another model"):
        read_tokenizer(without, 1, [])
