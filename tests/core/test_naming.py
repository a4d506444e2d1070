"""Answers that tell who wrote them are found in each language, and others are not."""

from __future__ import annotations

import pytest

from coupled_arena.core import naming
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.naming import NameList, known_names
from coupled_arena.core.settings import load_settings

# A word that means other things, too: only the introduction can tell.
INTRODUCED = {
    "en": [
        "I am Claude.",
        "I'm a large language model, trained by Google.",
        "You are Gemma, a bot",
    ],
    "de": ["Ich bin Claude.", "Ich bin ein Sprachmodell, das von Google trainiert wurde."],
    "fr": ["Je suis Claude.", "En tant que modèle de langage développé par Mistral, je réponds."],
    "es": ["Me llamo Claude.", "Soy un modelo de lenguaje creado por Google."],
    "pt": ["Eu sou o Claude.", "Sou um modelo de linguagem treinado pelo Google."],
    "it": ["Mi chiamo Claude.", "Sono un modello linguistico di Google."],
    "nl": ["Ik ben Claude.", "Ik ben een taalmodel van Google."],
    "ru": ["Меня зовут Алиса.", "Я языковая модель, которую обучил Яндекс."],
    "zh": ["我是Claude。", "我是百度开发的人工智能语言模型。"],
    "ja": ["私はClaudeです。", "私はGoogleによって訓練された言語モデルです。"],
    "ko": ["저는 클로드입니다.", "저는 구글에서 개발한 인공지능입니다."],
    "ar": ["أنا كلود.", "أنا نموذج لغوي من تدريب جوجل."],
}


def test_every_language_of_the_list_is_tried():
    assert INTRODUCED.keys() == set(naming._phrases())
    assert len(INTRODUCED) >= 10


@pytest.mark.parametrize("answer", [each for those in INTRODUCED.values() for each in those])
def test_answers_that_introduce_themselves(answer):
    assert known_names().name_in(answer, "Who are you?")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("SmolLM2-135M-Instruct is what I run on.", "SmolLM"),
        ("I use gpt-4 daily.", "gpt-4"),
        ("As ChatGPT's answers show,", "ChatGPT's"),
        ("You are a helpful AI assistant named SmolLM, trained by Hugging Face", "SmolLM"),
        ("我的开发者是阿里云。", "阿里云"),
        ("Made by Open-Assistant", "Open-Assistant"),
    ],
)
def test_unmistakable_names_tell_wherever_they_stand(answer, found):
    assert known_names().name_in(answer, "Tell me something.") == found


@pytest.mark.parametrize(
    "answer",
    [
        "Claude Monet painted water lilies. I am fond of them.",
        "I am Ann. Falcon 9 is a rocket, and Gemini 3 flew in 1965.",
        "I'm a Gemini, and my llama eats apples from Apple Street.",
        "The disk has a GPT partition table; phi is the golden ratio.",
        "Bill Gates founded Microsoft. As an engineer I use their tools.",
        "Die Orca ist ein Wal. Als Kind war ich bei Google.",
        "Metamorphosis, geminis, smollmouth, yield, philosophy: I am a language model.",
    ],
)
def test_what_only_has_the_word_does_not(answer):
    assert known_names().name_in(answer, "Tell me something.") is None


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("What is ChatGPT?", "ChatGPT is a program by OpenAI that answers questions.", False),
        ("Are you ChatGPT?", "I am an AI, though not as good as ChatGPT.", False),
        ("Are you ChatGPT?", "Yes, I am ChatGPT.", True),
        ("Are you ChatGPT?", "No, I'm a language model from Mistral.", True),
        ("Are you ChatGPT or not?", "SmolLM.", True),
        ("Is ChatGPT better than you?", "I was trained by OpenAI, so I cannot tell.", True),
    ],
)
def test_where_the_question_names_one_the_answer_must_introduce_itself(question, answer, told):
    assert (known_names().name_in(answer, question) is not None) == told


def test_models_names_are_looked_for_too():
    models = ["lab/Robin2-7B-bnb-8bit", "wren", "model-01", "A", "chat"]
    names = NameList((), ()).with_models(models)
    assert names.names == ("Robin2-7B-bnb-8bit",)
    assert names.words == ("Robin", "model-01", "wren")
    assert names.name_in("Here Robin2 7b bnb-8bit speaks.", "") == "Robin2 7b bnb-8bit"
    assert names.name_in("I am Robin.", "") == "Robin"
    assert names.name_in("I saw a robin and a wren.", "") is None


def test_lists_differ_by_what_is_in_them():
    one, other = NameList(("Robin 2",), ()), NameList((), ("Robin 2",))
    assert len({one.hash, other.hash, known_names().hash, NameList(("Robin 2",), ()).hash}) == 3


@pytest.mark.parametrize("name", ["", "#", "3", "x", "-"])
def test_what_every_answer_would_have_is_refused(tmp_path, name):
    path = tmp_path / "arena.toml"
    path.write_text(f'[naming]\nnames = ["{name}"]\n')
    with pytest.raises(SettingsError, match="give two letters or more"):
        load_settings(path)
