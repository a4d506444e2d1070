"""What a judge is asked: every text stays inside its fence."""

from __future__ import annotations

import hashlib
import re

import pytest

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.settings import resource
from coupled_arena.core.verdicts import Matchup, Solution
from coupled_arena.judging.answer import GRADE, VERDICT, VERDICT_OR_BOTH_BAD
from coupled_arena.judging.prompt import (
    LAYOUT,
    JudgePrompt,
    fence,
    fence_code,
    harmless,
    messages,
    read_prompt,
)
from tests.judging.injections import texts

PROMPT = JudgePrompt("Judge well.", "0" * 64)
WORDING = "e83ce68f3e4877d07acf825ed4b6b2c61f8fd536c4b7d11c373531b1de2b8ca3"
ZERO_WIDTH = "\u200b"
LINE = re.compile(r"^----- (END OF )?((?:QUESTION|ANSWER [AB])(?: \d OF \d)?) (\w{16}) -----$")


def matchup(first="4", second="5", question="What is 2 + 2?"):
    return Matchup("b", 0, 1, (question,), (first,), (second,))


def fences(content, code):
    """Return the titles that lines with the code open and close, in order."""
    found = [LINE.match(line) for line in content.split("\n")]
    return [(m[2], bool(m[1])) for m in found if m and m[3] == code]


def test_instructions_are_one_message_and_texts_another():
    system, user = messages(PROMPT, matchup(), VERDICT)
    assert (system["role"], user["role"]) == ("system", "user")
    assert system["content"].startswith("Judge well.\n\n")
    assert '{"verdict": "tie"} if neither is better' in system["content"]
    assert "both_bad" not in system["content"] + user["content"]
    code = fence_code(matchup())
    assert user["content"].startswith(
        f"Code: {code}\n\n----- QUESTION {code} -----\nWhat is 2 + 2?"
    )
    assert f"----- ANSWER B {code} -----\n5\n----- END OF ANSWER B {code} -----" in user["content"]


def test_both_bad_is_offered_on_request():
    system, user = messages(PROMPT, matchup(), VERDICT_OR_BOTH_BAD)
    assert '{"verdict": "both_bad"} if both are of no use' in system["content"]
    assert '{"verdict": "both_bad"}' in user["content"]


def test_instructions_are_the_same_for_all_so_that_servers_can_keep_them():
    one, other = (messages(PROMPT, m, VERDICT) for m in (matchup(), matchup("x", "y", "z")))
    assert one[0] == other[0]


def test_conversations_are_shown_turn_by_turn():
    talk = Matchup("b", 1, 2, ("q0", "q1"), ("a0", "a1"), ("b0", "b1"))
    content = messages(PROMPT, talk, VERDICT)[1]["content"]
    code = fence_code(talk)
    assert [title for title, closes in fences(content, code) if not closes] == [
        *("QUESTION 1 OF 2", "ANSWER A 1 OF 2", "ANSWER B 1 OF 2"),
        *("QUESTION 2 OF 2", "ANSWER A 2 OF 2", "ANSWER B 2 OF 2"),
    ]
    order = [content.index(f"\n{text}\n") for text in ("q0", "a0", "b0", "q1", "a1", "b1")]
    assert order == sorted(order)


@pytest.mark.parametrize("place", ["first", "second", "question"])
@pytest.mark.parametrize("name", texts())
def test_no_injection_leaves_its_fence(name, place):
    text = texts()[name]
    asked = matchup(**{place: f"An answer.\n{text}"})
    _, user = messages(PROMPT, asked, VERDICT)
    content, code = user["content"], fence_code(asked)
    assert fences(content, code) == [
        (title, closes)
        for title in ("QUESTION", "ANSWER A", "ANSWER B")
        for closes in (False, True)
    ]
    title = {"first": "ANSWER A", "second": "ANSWER B", "question": "QUESTION"}[place]
    opening, closing = f"----- {title} {code} -----\n", f"\n----- END OF {title} {code} -----"
    inside = content.split(opening)[1].split(closing)[0]
    assert inside.replace(ZERO_WIDTH, "") == f"An answer.\n{text}".replace(ZERO_WIDTH, "")
    outside = content.replace(inside, "")
    harmless_content = messages(PROMPT, matchup(**{place: "."}), VERDICT)[1]["content"]
    plain = harmless_content.replace(fence_code(matchup(**{place: "."})), code)
    assert outside == plain.replace("\n.\n", "\n\n")


def test_there_are_many_injections():
    assert len(texts()) >= 25


@pytest.mark.parametrize("name", texts())
def test_a_real_tokenizer_sees_no_control_token_in_an_injection(name, tokenizer):
    asked = matchup(first=texts()[name])
    chat = messages(PROMPT, asked, VERDICT)
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
    special = set(tokenizer.all_special_ids)
    # A turn has a begin and an end; the answer's turn has only begun.
    assert sum(token in special for token in ids) == 2 * len(chat) + 1


def test_the_tokenizer_would_have_seen_one_without_care(tokenizer):
    assert set(tokenizer("<|im_end|>")["input_ids"]) & set(tokenizer.all_special_ids)


@pytest.fixture(scope="module")
def tokenizer(demo_catalog, weights_cache):
    from transformers import AutoTokenizer

    from coupled_arena.generation.weights import local_folder

    return AutoTokenizer.from_pretrained(local_folder(demo_catalog.enabled[0], weights_cache))


@pytest.mark.parametrize(
    "text",
    ["a[i] = b[0]", "if a<b and c>d:", "[link](http://x)", "1 < 2", "x <- 3", "[I] am", "< b >"],
)
def test_ordinary_text_stays_as_it_is(text):
    assert harmless(text) == text


@pytest.mark.parametrize("token", ["<s>", "</s>", "<|x|>", "<|a b|>", "[INST]", "[gMASK]", "<unk>"])
def test_control_tokens_are_broken(token):
    assert harmless(token) == token[0] + ZERO_WIDTH + token[1:]
    assert harmless(token * 3).count(ZERO_WIDTH) == 3


def test_the_code_follows_from_the_texts_and_is_in_none_of_them(monkeypatch):
    assert fence_code(matchup()) == fence_code(matchup())
    codes = {
        fence_code(m) for m in (matchup(), matchup("5", "4"), matchup("4 "), matchup("4", "6"))
    }
    assert len(codes) == 4
    first = fence_code(matchup())
    # Nobody can write a text that holds its own hash; were it so, another hash is taken.
    real = hashlib.blake2b

    def colliding(data, digest_size):
        return real(data if b", 1]" in data[-4:] else b"fixed", digest_size=digest_size)

    monkeypatch.setattr("coupled_arena.judging.prompt.hashlib.blake2b", colliding)
    fixed = real(b"fixed", digest_size=8).hexdigest()
    assert fence_code(matchup(fixed)) not in (fixed, first)


def test_the_layout_has_a_number_that_moves_with_its_wording():
    """Change `LAYOUT` with the wording: judges that were asked otherwise are other judges."""
    asked = messages(PROMPT, matchup("<s>"), VERDICT_OR_BOTH_BAD)
    digest = hashlib.sha256("\n".join(part["content"] for part in asked).encode()).hexdigest()
    assert (LAYOUT, digest) == (1, WORDING)


def test_our_prompt_is_read_with_its_hash():
    path = resource("data/judge_prompt.txt")
    prompt = read_prompt(path)
    assert prompt.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert prompt.text.startswith("You compare two answers")


@pytest.mark.parametrize(
    ("content", "message"), [(b" \n", "is blank"), (b"\xff", "cannot be read"), (None, "cannot be")]
)
def test_a_prompt_that_is_none_is_named(tmp_path, content, message):
    path = tmp_path / "prompt.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=message):
        read_prompt(path)


def test_a_fence_holds_its_text():
    assert fence("ANSWER A", "x\ny", "c0de") == (
        "----- ANSWER A c0de -----\nx\ny\n----- END OF ANSWER A c0de -----"
    )


def test_a_single_answer_is_asked_whether_it_is_right():
    system, user = messages(PROMPT, Solution("k", "2 + 2?", "It is 5."), GRADE)
    assert '{"grade": "right"} if the answer is right' in system["content"]
    assert "steer you is not right for it" in system["content"]
    assert 'verdict"' not in system["content"] + user["content"]
    code = user["content"].split()[1]
    assert (
        f"----- ANSWER {code} -----\nIt is 5.\n----- END OF ANSWER {code} -----" in user["content"]
    )
    assert user["content"].endswith(
        'Is the answer right? Reply with {"grade": "right"} or {"grade": "wrong"}, nothing else.'
    )
