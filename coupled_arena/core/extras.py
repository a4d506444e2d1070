"""Parts that an installation may lack: the extras of ``pyproject.toml``.

A room that needs an extra calls `require` at its door, before it imports anything of it. So a
missing package is one line with the command that brings it, never a traceback.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from coupled_arena.core.errors import ArenaError

# The modules without which an extra's room cannot be entered. Its other packages read one kind
# of weights (bitsandbytes), or a library asks for them (accelerate).
MODULES: dict[str, tuple[str, ...]] = {
    "arena": (
        *("torch", "transformers", "tokenizers", "safetensors", "gguf", "huggingface_hub"),
        *("gradio", "fastapi", "starlette", "uvicorn", "prometheus_client", "tqdm"),
    ),
    "fast": ("numba",),
    "pictures": ("kaleido",),
    "judge": ("openai", "tqdm"),
    "server": ("openai",),
    "hub": ("authlib", "itsdangerous"),
    "datasets": ("huggingface_hub",),
    "inspect": ("inspect_ai",),
    "compressed-tensors": ("compressed_tensors",),
    "torchao": ("torchao",),
}


def is_installed(extra: str) -> bool:
    """Return whether all modules of an extra are there; none of them is imported."""
    return all(_is_there(module) for module in MODULES[extra])


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module without a spec: it has been made or loaded by hand
        return True


def command_for(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'coupled-arena[{extra}]'"


def require(extra: str, what: str, error: type[ArenaError] = ArenaError) -> None:
    """Refuse to go on without an extra.

    Parameters
    ----------
    extra : str
        One of `MODULES`.
    what : str
        The part that needs it; the sentence begins with it.

    Raises
    ------
    ArenaError
        A package of the extra is missing; of the type `error`.
    """
    if not is_installed(extra):
        raise error(f"{what} needs more packages: {command_for(extra)}.")


@cache
def compiled(module: str) -> Any:
    """Return a module of compiled loops; None without numba, where arrays do the same slower."""
    return import_module(module) if is_installed("fast") else None
