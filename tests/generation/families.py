"""Small tokenizers in the manner of the families people run, each with its chat template.

They have the families' control tokens with their flags, normalizers, pre-tokenizers and templates,
over a vocabulary of bytes and a few merges.
"""

from __future__ import annotations

from functools import cache

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, processors
from tokenizers import pre_tokenizers as splits
from transformers import PreTrainedTokenizerFast

WORDS = ["Hello", " world", "user", "assistant", "system", "im", "end", "start", "think"]
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"


def special(*names, **flags):
    return [AddedToken(name, special=True, normalized=False, **flags) for name in names]


def added(*names, **flags):
    return [AddedToken(name, special=False, **{"normalized": False, **flags}) for name in names]


def merged(words, alphabet):
    """Return merges that build each word from its left, and all pieces on the way."""
    merges, pieces = [], dict.fromkeys(alphabet)
    for word in words:
        for end in range(1, len(word)):
            pair = (word[:end], word[end])
            if pair not in merges:
                merges.append(pair)
            pieces[word[: end + 1]] = None
    return merges, list(pieces)


def byte_level(tokens, *, normalizer=None, ignore_merges=False, post=None):
    """Build a byte-level BPE tokenizer, as of GPT-2, Llama 3, Qwen and SmolLM2."""
    words = [word.replace(" ", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}") for word in WORDS]
    merges, pieces = merged(words, sorted(splits.ByteLevel.alphabet()))
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    built = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=ignore_merges))
    built.normalizer = normalizer
    pattern = Regex(r"'s|\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    built.pre_tokenizer = splits.Sequence(
        [
            splits.Split(pattern, "isolated"),
            splits.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    built.decoder = decoders.ByteLevel()
    return finished(built, tokens, post)


def sentencepiece(tokens, *, normalizer, inside=("<unk>", "<s>", "</s>"), post=None):
    """Build a BPE tokenizer with byte fallback, as of Llama 2, Mistral and Gemma.

    As in files made from SentencePiece models, merges lead to control tokens, too.
    """
    words = [word.replace(" ", SPACE) for word in WORDS] + list(inside)
    merges, pieces = merged(words, [chr(code) for code in range(33, 127)] + [SPACE])
    data = [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys([*data, *pieces]))}
    built = Tokenizer(models.BPE(vocabulary, merges, unk_token=inside[0], byte_fallback=True))
    built.normalizer = normalizer
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    built.decoder = decoders.Sequence(steps)
    return finished(built, tokens, post)


def unigram(tokens):
    """Build a unigram model, whose best reading of `</s>` is the control token itself."""
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)]
    pieces += [(chr(code), -9.0) for code in range(33, 127)] + [(SPACE, -3.0)]
    pieces += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    built = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    built.pre_tokenizer = splits.Metaspace(prepend_scheme="first", split=False)
    built.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first", split=False)]
    )
    return finished(built, tokens, None)


def finished(built, tokens, post):
    for token in tokens:
        (built.add_special_tokens if token.special else built.add_tokens)([token])
    if post:
        built.post_processor = processors.TemplateProcessing(
            single=f"{post}:0 $A:0", special_tokens=[(post, built.token_to_id(post))]
        )
    return built


CHATML = """{%- for m in messages -%}
{%- if loop.first and m.role != 'system' -%}<|im_start|>system
You are helpful.<|im_end|>
{% endif -%}
{{ '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' and '</think>' in m.content -%}
{{ m.content.split('</think>')[-1].lstrip('\\n') }}
{%- else -%}{{ m.content }}{%- endif -%}
{{ '<|im_end|>\\n' }}
{%- endfor -%}
{%- if messages[-1].content.startswith('<tool_response>') -%}TOOL{%- endif -%}
{{ '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' }}"""

MODES = """{%- set flag = '/no_think' in messages[0].content -%}
{%- for m in messages -%}
{{ '<|im_start|>' + m.role + '\\n' + m.content.replace('/no_think', '') + '<|im_end|>\\n' }}
{%- endfor -%}
{{ '<|im_start|>assistant\\n' }}{%- if flag -%}{{ '<think>\\n</think>' }}{%- endif -%}"""

LLAMA3 = """{{- bos_token -}}
{%- for m in messages -%}
{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}
{%- endfor -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"""

LLAMA2 = """{%- for m in messages -%}
{%- if m.role == 'user' -%}{{ bos_token + '[INST] ' + m.content.strip() + ' [/INST]' }}
{%- elif m.role == 'system' -%}{{ '<<SYS>>\\n' + m.content.strip() + '\\n<</SYS>>\\n\\n' }}
{%- else -%}{{ ' ' + m.content.strip() + ' ' + eos_token }}{%- endif -%}
{%- endfor -%}"""

GEMMA = """{{ bos_token }}
{%- if messages[0].role == 'system' -%}{{ raise_exception('System role not supported') }}
{%- endif -%}
{%- for m in messages -%}
{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' }}
{{- m.content | trim + '<end_of_turn>\\n' }}
{%- endfor -%}
{{ '<start_of_turn>model\\n' }}"""

PHI = """{%- for m in messages -%}
{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}
{%- endfor -%}{{ '<|assistant|>\\n' }}"""

MISTRAL = """{{ bos_token }}
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}{{ ' ' + m.content | trim + eos_token }}
{%- else -%}{{ '[INST] ' + m.content + '[/INST]' }}{%- endif -%}
{%- endfor -%}"""

SHOUTED = """{%- for m in messages -%}<user>{{ m.content }}</user>{%- endfor -%}<answer>"""

PREPENDED = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])


def qwen():
    return byte_level(
        [
            *special("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
            *added("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>"),
            *added("<|fim_prefix|>", "<|file_sep|>"),
        ],
        normalizer=normalizers.NFC(),
    )


def llama3():
    names = ["begin_of_text", "start_header_id", "end_header_id", "eot_id", "python_tag"]
    tokens = special(*(f"<|{name}|>" for name in names))
    return byte_level(tokens, ignore_merges=True, post="<|begin_of_text|>")


def gemma():
    return sentencepiece(
        [
            *special("<unk>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
            *added("\n\n", "\n\n\n", SPACE * 2, SPACE * 3, "<unused7>", "<b>", "</b>", "<h1>"),
        ],
        normalizer=normalizers.Replace(" ", SPACE),
        inside=("<unk>", "<bos>", "<eos>", "<start_of_turn>"),
    )


def phi():
    return sentencepiece(
        [
            *special("<unk>", "<s>", "</s>"),
            *special("<|user|>", "<|assistant|>", "<|system|>", "<|end|>", rstrip=True),
            *special("<|left|>", lstrip=True),
            *added("   ", "covid"),
        ],
        normalizer=PREPENDED,
    )


def folded():
    """Fold letters, and match its control tokens in what comes of it."""
    tokens = added("<user>", "</user>", "<answer>", normalized=True)
    return byte_level(
        [*tokens, *special("<end>")],
        normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
    )


LLAMA2_TOKENS = special("<unk>", "<s>", "</s>")
MISTRAL_TOKENS = [*LLAMA2_TOKENS, *special("[INST]", "[/INST]", "[TOOL_CALLS]")]
FAMILIES = {
    "qwen": (qwen, CHATML, "<|im_start|>", "<|im_end|>"),
    "modes": (qwen, MODES, "<|im_start|>", "<|im_end|>"),
    "llama3": (llama3, LLAMA3, "<|begin_of_text|>", "<|eot_id|>"),
    "llama2": (
        lambda: sentencepiece(LLAMA2_TOKENS, normalizer=PREPENDED, post="<s>"),
        *(LLAMA2, "<s>", "</s>"),
    ),
    "gemma": (gemma, GEMMA, "<bos>", "<eos>"),
    "phi": (phi, PHI, "<s>", "</s>"),
    "mistral": (
        lambda: sentencepiece(MISTRAL_TOKENS, normalizer=PREPENDED),
        *(MISTRAL, "<s>", "</s>"),
    ),
    "unigram": (lambda: unigram(LLAMA2_TOKENS), LLAMA2, "<s>", "</s>"),
    "folded": (folded, SHOUTED, "<end>", "<end>"),
    "base": (llama3, None, "<|begin_of_text|>", "<|eot_id|>"),
    "base-llama2": (
        lambda: sentencepiece(LLAMA2_TOKENS, normalizer=PREPENDED, post="<s>"),
        *(None, "<s>", "</s>"),
    ),
}


@cache
def tokenizer_of(family):
    """Return a family's tokenizer, as transformers would load it."""
    build, template, bos, eos = FAMILIES[family]
    loaded = PreTrainedTokenizerFast(
        tokenizer_object=build(),
        bos_token=bos,
        eos_token=eos,
        clean_up_tokenization_spaces=False,
    )
    loaded.chat_template = template
    return loaded
