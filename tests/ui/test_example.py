"""The example beside an arena: opened once, closed with the server, tried again after a failure."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import gradio as gr
import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import Request

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.records import new_id, seed_to_hex
from coupled_arena.core.settings import load_settings
from coupled_arena.services import open_services
from coupled_arena.store.database import Store
from coupled_arena.ui.example import Example
from coupled_arena.ui.parts.events import Page
from tests.patience import PATIENCE
from tests.stored import fill
from tests.ui.coroutines import completed


class Openings:
    """Opens a small application, once it may, and notes what happens to it."""

    def __init__(self, failures=0):
        self.may = threading.Event()
        self.noted = []
        self.failures = failures

    @contextmanager
    def opened(self):
        self.noted.append("opens")
        assert self.may.wait(PATIENCE)
        if len(self.noted) <= self.failures:
            raise SettingsError("It cannot be opened.")

        @asynccontextmanager
        async def lifespan(_application):
            self.noted.append("begins")
            yield
            self.noted.append("ends")

        application = FastAPI(lifespan=lifespan)

        @application.get("/where")
        def where(request: Request):
            return str(request.url), str(request.base_url)

        yield application
        self.noted.append("closed")


@asynccontextmanager
async def visiting(openings):
    """An arena with the example beside it, and somebody who asks; closed as by its server."""
    arena = FastAPI()
    example = Example(openings.opened)
    arena.router.routes += example.routes
    transport = httpx.ASGITransport(arena)
    async with httpx.AsyncClient(transport=transport, base_url="http://arena") as visitor:
        yield visitor
        await example.close()
        assert (await visitor.get("/example/")).status_code == 503


async def until_opened(visitor):
    """Ask as the page that waits does."""
    async with asyncio.timeout(PATIENCE):
        while "doing" in (await visitor.get("/example/healthz")).json():
            await asyncio.sleep(0.01)


def test_ten_who_ask_at_once_open_it_once_and_it_is_closed_with_the_server():
    openings = Openings()

    async def visit():
        async with visiting(openings) as visitor:
            assert (await visitor.get("/example/gradio_api/app_id")).json() == {"app_id": None}
            assert not openings.noted
            asked = await asyncio.gather(*(visitor.get("/example/") for _ in range(10)))
            assert {each.status_code for each in asked} == {200}
            assert "The example is being opened." in asked[0].text
            assert (await visitor.get("/example/where")).status_code == 503
            assert (await visitor.get("/example/healthz")).json()["doing"]
            openings.may.set()
            async with asyncio.timeout(PATIENCE):
                while (answer := await visitor.get("/example/where")).status_code == 503:
                    await asyncio.sleep(0.01)
            assert answer.json() == ["http://arena/example/where", "http://arena/"]
            assert openings.noted == ["opens", "begins"]

    completed(visit())
    assert openings.noted == ["opens", "begins", "ends", "closed"]


def test_what_could_not_be_opened_is_said_and_can_be_tried_again(caplog):
    openings = Openings(failures=1)
    openings.may.set()

    async def visit():
        async with visiting(openings) as visitor:
            await visitor.get("/example/")
            await until_opened(visitor)
            failed = await visitor.get("/example/")
            assert failed.status_code == 500
            assert "could not be opened" in failed.text
            assert "is being opened" in (await visitor.get("/example/")).text
            await until_opened(visitor)
            assert (await visitor.get("/example/where")).status_code == 200

    completed(visit())
    assert openings.noted == ["opens", "opens", "begins", "ends", "closed"]
    assert "The example could not be opened" in caplog.text


@pytest.mark.parametrize("asked", [True, False])
def test_it_closes_while_it_is_opened_and_where_nobody_asked(asked):
    openings = Openings()

    async def visit():
        async with visiting(openings) as visitor:
            if asked:
                await visitor.get("/example/")
                threading.Timer(0.05, openings.may.set).start()

    completed(visit())
    assert openings.noted == (["opens", "begins", "ends", "closed"] if asked else [])


def test_its_folder_ends_with_a_slash():
    async def visit():
        async with visiting(Openings()) as visitor:
            answer = await visitor.get("/example?tab=risk", follow_redirects=False)
            assert answer.headers["location"] == "example/"

    completed(visit())


def test_what_handlers_of_another_page_return_stays_out_of_a_page_that_is_laid_out():
    with Page() as page:
        gr.HTML("here")
        handler = threading.Thread(target=lambda: gr.Column(visible=False))
        handler.start()
        handler.join()
    assert [type(block) for block in page.blocks.values()] == [gr.HTML]


@pytest.mark.parametrize("example", [True, False])
def test_a_host_is_warned_of_a_small_seed_and_the_example_warns_nobody(tmp_path, caplog, example):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        (made,) = fill(store, ["Which way?"])
        store.add_battle(replace(made, id=new_id(), experiment=seed_to_hex(7)))
    with open_services(load_settings(db=path), annotate=True, example=example) as services:
        assert services.example == example
    assert ("small --seed" in caplog.text) != example
