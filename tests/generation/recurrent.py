"""Tiny networks of random weights whose layers keep a state, alone or beside attention."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from tests.small_models import CONTROL, END, TOKENS, tokenizer

_SIZES = {"vocab_size": TOKENS, "hidden_size": 32, "num_hidden_layers": 2}
_HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
_MLP = {"intermediate_size": 64}
_LONG = {"max_position_embeddings": 2048}
_MAMBA = {
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_n_groups": 1,
    "mamba_d_state": 8,
    "mamba_expand": 2,
    "mamba_chunk_size": 16,
}
_LINEAR = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
_PLAIN = {**_SIZES, **_HEADS, **_MLP, **_LONG}

HYBRID = {
    "qwen3_next": {
        **_PLAIN,
        **_LINEAR,
        **_EXPERTS,
        "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16,
    },
    "lfm2": {**_PLAIN, "layer_types": ["conv", "full_attention"], "block_multiple_of": 16},
    "falcon_h1": {**_PLAIN, **_MAMBA, "mamba_d_ssm": 64},
    "jamba": {
        **_PLAIN,
        **_EXPERTS,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "mamba_d_state": 8,
        "mamba_dt_rank": 4,
        "use_mamba_kernels": False,
    },
    "bamba": {**_PLAIN, **_MAMBA, "attn_layer_indices": [1]},
    "zamba2": {
        **_PLAIN,
        "layers_block_type": ["mamba", "hybrid"],
        "hybrid_layer_ids": [1],
        "mamba_d_state": 8,
        "mamba_ngroups": 1,
        "n_mamba_heads": 4,
        "mamba_headdim": 16,
        "chunk_size": 16,
        "num_mem_blocks": 1,
        "adapter_rank": 4,
        "use_mamba_kernels": False,
    },
    "granitemoehybrid": {
        **_PLAIN,
        **_MAMBA,
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "shared_intermediate_size": 32,
    },
    "nemotron_h": {
        **_PLAIN,
        "layers_block_type": ["mamba", "attention"],
        "mamba_num_heads": 4,
        "mamba_head_dim": 16,
        "ssm_state_size": 8,
        "n_groups": 1,
        "chunk_size": 16,
    },
    "olmo_hybrid": {**_PLAIN, **_LINEAR},
    "minimax": {
        **_PLAIN,
        "num_local_experts": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "block_size": 16,
    },
}
RECURRENT = {
    "recurrent_gemma": {
        **_SIZES,
        **_MLP,
        **_HEADS,
        "attention_window_size": 64,
        "lru_width": 32,
        "block_types": ["recurrent", "attention"],
    },
    "mamba": {**_SIZES, "state_size": 8, "time_step_rank": 4},
    "mamba2": {
        **_SIZES,
        "state_size": 8,
        "num_heads": 4,
        "head_dim": 16,
        "n_groups": 1,
        "chunk_size": 16,
    },
    "falcon_mamba": {**_SIZES, "state_size": 8, "time_step_rank": 4},
    "rwkv": {**_SIZES, "attention_hidden_size": 32, "context_length": 2048},
    "xlstm": {**_SIZES, "num_heads": 2, "embedding_dim": 32, "num_blocks": 2, "chunk_size": 16},
}
FAMILIES = {**HYBRID, **RECURRENT}


@torch.no_grad()
def save_network(family: str, folder: Path) -> None:
    """Save a checkpoint of a family, with weights large enough that each layer is heard."""
    config = CONFIG_MAPPING[family](tie_word_embeddings=False, pad_token_id=0, **FAMILIES[family])
    config.max_position_embeddings = 2048  # which some of them do not say
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = AutoModelForCausalLM.from_config(config).eval()
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.normal_(std=0.3)
    network.generation_config = GenerationConfig(eos_token_id=CONTROL.index(END))
    network.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
