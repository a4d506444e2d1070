"""A page of a test's own, served with the scripts and styles of the app."""

from __future__ import annotations

import gradio as gr
import uvicorn
from fastapi import APIRouter, FastAPI

from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import translated_texts
from coupled_arena.ui.parts.panel import texts


def mount(application: FastAPI, page: gr.Blocks, head: str = "") -> FastAPI:
    """Put a page, and what formats its texts, on an application."""
    application.include_router(texts())
    gr.mount_gradio_app(
        application,
        page,
        "/",
        css_paths=[resource("assets/arena.css")],
        head=translated_texts() + head,
        run_history=False,
        footer_links=[],
    )
    return application


def serve(port: int, page: gr.Blocks, *routers: APIRouter) -> None:
    """Serve a page, and what else it asks for."""
    application = FastAPI()
    for router in routers:
        application.include_router(router)
    uvicorn.run(mount(application, page), port=port, log_level="error")
