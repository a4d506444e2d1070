"""Links, pictures, trees and front matter of the documents; the two commands of the README."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.docs.pages import README, REPOSITORY, TEXTS, blocks, prose


def test_the_checks_of_every_change_are_the_command_of_the_readme():
    start, test = blocks(README, "bash")[:2]
    tested = '-c requirements.txt -e ".[arena,judge]"'
    assert start.strip().endswith(f".venv/bin/pip install {tested} && .venv/bin/python app.py")
    assert test.strip() in (REPOSITORY / ".ci" / "run").read_text()
    assert start in blocks(TEXTS["docs/quickstart.md"], "bash")
    assert test in blocks(TEXTS["CONTRIBUTING.md"], "bash")


def test_a_picture_comes_first():
    sentence, picture = README.split("# Coupled Arena")[1].strip().split("\n\n")[:2]
    assert picture.startswith("![")
    assert sentence.count(".") == 1
    assert len(README.splitlines()) <= 120


def scripts():
    return sorted(
        {name for text in TEXTS.values() for name in re.findall(r"-m (benchmarks\.\w+)", text)}
    )


def test_measurements_have_their_scripts():
    there = {f"benchmarks.{path.stem}" for path in (REPOSITORY / "benchmarks").glob("*.py")}
    table = prose(TEXTS["benchmarks/README.md"]).partition("\n## ")[0]
    assert set(re.findall(r"-m (benchmarks\.\w+)", table)) == there
    assert set(scripts()) == there


def anchors(text):
    """Return what headings can be linked by, as the usual renderers name them."""
    headings = re.findall(r"^#+ (.*)$", prose(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links():
    for page, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
            if not re.match(r"https?:", target):
                yield page, target


@pytest.mark.parametrize(("page", "target"), list(links()))
def test_links_lead_somewhere(page, target):
    path, _, anchor = target.partition("#")
    there = ((REPOSITORY / page).parent / path).resolve() if path else REPOSITORY / page
    assert there.is_file()
    if anchor:
        assert anchor in anchors(there.read_text(encoding="utf-8"))


def test_every_page_is_reached_from_the_readme():
    reached = {target.partition("#")[0] for page, target in links() if page == "README.md"}
    assert {page for page in TEXTS if page != "README.md"} <= reached


def named_in(tree):
    """Return the paths that a tree names, from the root of the repository."""
    folders, paths = [], []
    for line in filter(str.strip, tree.splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.split(r" {2,}", line.strip())[0].split(", ")
        paths += ["/".join([*folders[:depth], name.rstrip("/")]) for name in names]
        folders[depth:] = [names[0].rstrip("/")]
    return paths


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_trees_name_what_is_there(page):
    tree = TEXTS[page].split("## The tree")[1].split("```")[1]
    assert not [path for path in named_in(tree) if not (REPOSITORY / path).exists()]


def test_the_tree_has_every_room():
    tree = TEXTS["docs/architecture.md"].split("## The tree")[1].split("```")[1]
    package = REPOSITORY / "coupled_arena"
    rooms = {str(path.parent.relative_to(REPOSITORY)) for path in package.rglob("*/__init__.py")}
    assert rooms <= set(named_in(tree))


def test_files_named_in_sentences_are_there():
    """As the architecture tells how a vote and a seed travel."""
    text = prose(TEXTS["docs/architecture.md"]) + prose(TEXTS["CONTRIBUTING.md"])
    named = set(re.findall(r"`([a-z_]+/[\w/]+(?:\.\w+|/))`", text))
    roots = (REPOSITORY, REPOSITORY / "coupled_arena")
    gone = [path for path in named if not any((root / path).exists() for root in roots)]
    assert named
    assert gone == []


def test_the_front_matter_is_what_spaces_read():
    front = yaml.safe_load(README.split("---")[1])
    assert (front["sdk"], front["app_port"]) == ("docker", 7860)
    assert (REPOSITORY / "Dockerfile").is_file()
