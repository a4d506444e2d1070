"""Answers fit the schemas that are made of tables and options; no result has a table of its own."""

from __future__ import annotations

import pytest

import coupled_arena as ca
from coupled_arena.api.declared import options
from coupled_arena.core.settings import load_settings
from coupled_arena.views.tables.declared import TABLES
from tests.battles.variants import save_variants, variants
from tests.docs.test_data_dictionary import db

__all__ = ["db"]  # a fixture

KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
}


def complaints(value, schema, whole, at="answer"):
    """Yield where a value is not as a schema of our few words says."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        found = [list(complaints(value, each, whole, at)) for each in schema["anyOf"]]
        yield from [] if [] in found else found[0]
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    true = isinstance(value, bool)
    if not any(isinstance(value, KINDS[each]) and true == (each == "boolean") for each in kinds):
        yield f"{at}: {value!r} is not {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not in {schema['enum']}"
    for name, inner in schema.get("properties", {}).items():
        if isinstance(value, dict) and name in value:
            yield from complaints(value[name], inner, whole, f"{at}.{name}")
    if isinstance(value, list | tuple):
        for each in value:
            yield from complaints(each, schema.get("items", {}), whole, f"{at}[]")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    save_variants(folder)
    return ca.Models(variants(folder), load_settings())


@pytest.fixture(scope="module")
def results(db, models):
    store = ca.open(db)
    judged = {"judge": "ann"}
    return {
        "leaderboard": [
            ca.leaderboard(store, **judged, bradley_terry=True, control="style"),
            ca.leaderboard(store, models=["able", "fair"]),
        ],
        "audit": [ca.audit(store, **judged, control="style")],
        "agreement": [ca.agreement(store)],
        "voters": [ca.voters(store)],
        "plan": [
            ca.plan(store, "able", **judged),
            ca.plan(store, "able", against="fair", margin=0.1),
        ],
        "coupling": [ca.coupling(store), ca.coupling(store, by_sampling=True)],
        "gate": [ca.gate("able", "fair", store), ca.gate("able", "fair", store, by="votes")],
        "risk": [ca.risk(store, metrics=["quiz", "length"], **judged, bootstraps=50)],
        "closeness": [ca.closeness(models, ["Why?", "How?"], max_new_tokens=4)],
        "resample": [ca.resample(store, **judged, repeats=2)],
        "simulate": [
            ca.simulate(repeats=1, human=[100]),
            ca.simulate(repeats=1, human=[100], watch=50),
            ca.simulate(repeats=1, human=[100], judge_noise=[0.1]),
        ],
    }


@pytest.mark.parametrize("name", [name for name in TABLES if name in ca.__all__])
def test_an_answer_is_as_its_schema_says(results, name):
    schema = ca.schema(name)
    (found, *others), function = results[name], getattr(ca, name)
    for each in (found, *others):
        assert list(complaints(each.answer, schema, schema)) == []
        assert set(each.answer["settings"]) >= {option.name for option in options(function)}
    wrong = {**found.answer, "settings": {**found.answer["settings"], "alpha": "five"}}
    if "alpha" in schema["properties"]["settings"]["properties"]:
        assert any("five" in each for each in complaints(wrong, schema, schema))


@pytest.mark.parametrize("name", [name for name in TABLES if name in ca.__all__])
def test_a_result_has_no_table_or_column_that_is_not_declared(results, name):
    for result in results[name]:
        for table, found in result.tables.items():
            columns = {column.name for column in found.columns}
            by_metric = name == "risk" and table not in TABLES["risk"]
            assert by_metric or TABLES[name][table].framed, table
            alike = ["models" if by_metric else table, "samplings"]
            told = [TABLES[name][each] for each in alike if each in TABLES[name]]
            assert any(columns <= {each.name for each in one.columns} for one in told), table


def test_a_schema_of_nothing_is_refused_with_what_there_is():
    with pytest.raises(ca.ArenaError, match="no schema of 'boards', only of leaderboard, audit"):
        ca.schema("boards")
