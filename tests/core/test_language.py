"""The catalog: complete, as extracted and as compiled; one language for a whole process."""

from __future__ import annotations

import ast
import gettext
import re
import string
import subprocess
import sys

import numpy as np
import pytest

from coupled_arena.cli import main
from coupled_arena.core.choices import Copula, Correction, Covariance, Cutoff, PValues, Weighting
from coupled_arena.core.language import (
    FOLDER,
    _,
    _Installed,
    filled,
    languages,
    ngettext,
    number,
    separators,
)
from coupled_arena.views.figures import caption
from coupled_arena.views.tables.audit import AUDIT_MODELS
from tests import catalog
from tests.dictionary import RESULTS

OTHERS = [name for name in languages() if name != "en"]


def words(value):
    return [value] if isinstance(value, str) else list(value)


def places(text):
    """Return the named places of a text, and how each is written."""
    try:
        return sorted((name, kind) for _, name, kind, _ in string.Formatter().parse(text) if name)
    except ValueError:
        return sorted(re.findall(r"{[^}]*}", text))


def test_german_is_there():
    assert OTHERS == ["de"]


def test_the_template_is_what_the_program_says_today():
    assert catalog.TEMPLATE.read_bytes() == catalog.written(catalog.extracted())


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_translated_with_the_same_places(language):
    texts = {str(each.id): each for each in catalog.extracted() if each.id}
    there = {str(each.id): each for each in catalog.translation(language) if each.id}
    assert there.keys() == texts.keys()
    assert [name for name, each in there.items() if not all(words(each.string))] == []
    assert [name for name, each in there.items() if each.fuzzy] == []  # which are not read
    for each in there.values():
        for at, text in enumerate(words(each.string)):
            assert places(text) == places(words(each.id)[min(at, len(words(each.id)) - 1)])


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_read_is_what_was_translated(language):
    translation = catalog.translation(language)
    assert catalog.source(language).with_suffix(".mo").read_bytes() == catalog.compiled(translation)
    assert (FOLDER / language / "scripts.json").read_bytes() == catalog.scripts(translation)


def test_no_call_in_a_script_escapes_extraction():
    """Babel does not see calls inside templates and other calls."""
    known = {words(each.id)[0] for each in catalog.extracted() if each.id}
    folder = catalog.REPOSITORY / "assets"
    said = {
        match[1]
        for path in folder.glob("*.js")
        if path.name != "translations.js"
        for match in re.finditer(r'\bsayN?\(\s*"((?:[^"\\]|\\.)*)"(?!\s*\+)', path.read_text())
    }
    assert said
    assert said - known == set()


def test_an_unknown_language_is_refused_in_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLED_ARENA_LANGUAGE", "xx")
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--db", str(tmp_path / "arena.duckdb")])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said == "Error: There is no language 'xx'. Choose from: de, en.\n"
    assert not (tmp_path / "arena.duckdb").exists()


@pytest.mark.slow
def test_a_language_is_one_for_a_process_and_constants_follow_it():
    program = (
        "from coupled_arena.views.own_votes import criterion_words\n"
        "from coupled_arena.core.language import install, ngettext\n"
        "before = list(criterion_words([1, 2], both_bad=False).values())[1]\n"
        "install('de')\n"
        "print(before, *list(criterion_words([1, 2], both_bad=False).values())[1:2])\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout == "Clearer Klarer\n"


def test_numbers_of_a_text_are_in_its_language_and_points_of_names_stay(monkeypatch):
    text = "{model}: {share:.1%} of {n:,}, {low:+.3f}, {flag}"
    values = {
        "model": "Llama-3.1",
        "share": 0.125,
        "n": 12345,
        "low": np.float64(-0.5),
        "flag": True,
    }
    assert filled(text, **values) == text.format(**values)
    monkeypatch.setattr(_Installed, "texts", gettext.translation(catalog.DOMAIN, FOLDER, ["de"]))
    assert filled(text, **values) == "Llama-3.1: 12,5% of 12.345, -0,500, True"
    assert (number(1234.5, ",.2f"), separators()) == ("1.234,50", ",.")
    assert _("{model}: {share:.1%} of {n:,}").format(**values) == "Llama-3.1: 12,5% of 12.345"
    assert ngettext("{} of {:.1f}", "{} of {:.1f}", 2).format("1.5", 2.5) == "1.5 of 2,5"


def test_no_text_of_the_program_escapes_extraction():
    """Babel does not see calls inside f-strings, and nothing can translate an f-string."""
    known = {words(each.id)[0] for each in catalog.extracted() if each.id}
    escaped = [
        (path.name, ast.unparse(call.args[0]))
        for path in sorted((catalog.REPOSITORY / "coupled_arena").rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("_", "N_", "ngettext")
        and (
            isinstance(call.args[0], ast.JoinedStr)
            or (isinstance(call.args[0], ast.Constant) and call.args[0].value not in known)
        )
    ]
    assert escaped == []


def test_every_heading_of_a_result_is_in_the_catalog():
    known = {words(each.id)[0] for each in catalog.extracted() if each.id}
    letters = {column.heading for column in AUDIT_MODELS if len(column.heading) <= 2}
    # What `reproduce` and `names` make goes to files and a terminal, which speak English.
    english = ("reproduce", "names")
    shown = [columns for name, columns in RESULTS.items() if not name.startswith(english)]
    headings = {column.heading for columns in shown for column in columns}
    assert headings - known - letters - {""} == set()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (Weighting, caption.WEIGHTINGS),
        (Covariance, caption.COVARIANCES),
        (Cutoff, caption.CUTOFFS),
        (Cutoff, caption.CUTOFF_NAMES),
        (PValues, caption.P_VALUES),
        (Correction, caption.CORRECTIONS),
        ({Copula.INDEPENDENT, Copula.EMPIRICAL}, caption.COPULAS),
    ],
)
def test_every_setting_has_its_name_in_figures(kind, names):
    """In English its value and the kind of it, as commands call them."""
    assert set(names) == set(kind)
    assert all(name.split()[0] == value for value, name in names.items())
