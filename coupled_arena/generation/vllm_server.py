"""What a plugin in a vLLM server knows of the model that is served; nothing of vLLM is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from transformers.models.auto.tokenization_auto import AutoTokenizer

from coupled_arena.generation.served_draw import ARGUMENT, ServedDraw, ServedWeights, weights_of
from coupled_arena.generation.vocabulary import Vocabulary, read_tokenizer


class ServedModel:
    """The vocabulary and the weights of a vLLM configuration.

    Attributes
    ----------
    vocabulary : Vocabulary
        Without ids that end an answer: each request has its own.
    """

    vocabulary: Vocabulary

    def __init__(self, vllm_config: Any) -> None:
        config = vllm_config.model_config
        # Not vLLM's own tokenizer, which for some models is of another library; and now, for a
        # vocabulary that cannot be coupled is better told at the start.
        tokenizer = AutoTokenizer.from_pretrained(
            config.tokenizer,
            revision=config.tokenizer_revision,
            trust_remote_code=config.trust_remote_code,
        )
        self.vocabulary = read_tokenizer(tokenizer, config.get_vocab_size(), ())
        self._config = vllm_config
        # Now where the files are here, before anybody can change them; else once vLLM has fetched
        # them, which it does after this.
        self._held = weights_of(here, *_kind(config)) if (here := _folder(vllm_config)) else None

    @property
    def weights(self) -> ServedWeights:
        """Which weights the server holds."""
        if self._held is None:
            folder = _folder(self._config)
            kind = _kind(self._config.model_config)
            self._held = weights_of(folder, *kind) if folder else ServedWeights("0" * 16, *kind)
        return self._held


def asked_of(sampling_params: Any) -> ServedDraw | None:
    """Return the draw that a request brings along; None for requests of other clients.

    Raises
    ------
    ValueError
        It cannot be read.
    """
    argument = (sampling_params.extra_args or {}).get(ARGUMENT)
    return None if argument is None else ServedDraw.from_argument(argument)


def _folder(vllm_config: Any) -> Path | None:
    """Return where the checkpoint's files are; None where they are not here yet."""
    config = vllm_config.model_config
    if (folder := Path(config.model)).is_dir():
        return folder
    try:
        where = snapshot_download(
            config.model,
            revision=config.revision,
            cache_dir=vllm_config.load_config.download_dir,
            local_files_only=True,
        )
    except (OSError, ValueError):  # nothing of it is here
        return None
    folder = Path(where)
    whole = any(any(folder.glob(kind)) for kind in ("*.safetensors", "*.gguf", "*.bin", "*.pt"))
    return folder if whole else None


def _kind(config: Any) -> tuple[str, str]:
    """Return type and quantization as vLLM computes with them."""
    return str(config.dtype).removeprefix("torch."), str(config.quantization or "none")
