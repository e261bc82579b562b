"""A byte-level BPE as llama.cpp has it: tokens by id, their kinds, merges, and the name of a rule that splits text.

llama.cpp knows splitting rules only by name. Those of published tokenizers have names. The rule of a tokenizer trained
here has none, and none of the others comes near: they cut `snake_case` and indentation differently, so that a fifth of
all tokens would be others than the model learned. `superbpe` hardly cuts at all, and the merges, which never join what
our rule separates, do the rest: of 502,473 tokens of code that was not trained on, llama.cpp gave 99.2 % as we do. What
differs is a blank that joins the next word after an odd indentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.corpus.tokens.taught_fim import FIM_NAMES, FORMER_NAME, former_names
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.corpus.tokens.tokenizer_files import QWEN_PATTERN, read_description
from engine.corpus.tokens.tokenizer_training import CODE_PATTERN
from engine.errors import CheckpointError

NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
NAMED_PATTERNS = {CODE_PATTERN: "superbpe"}  # ours has no name of its own
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
WORDS = BYTES | {"use_regex": True}  # GPT-2's own rule, and bytes


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _digits(each: bool) -> dict[str, Any]:
    return {"type": "Digits", "individual_digits": each}


_THREE_DIGITS = [_split(QWEN_PATTERN.replace(r"\p{N}|", r"\p{N}{1,3}|")), BYTES]
_EACH_DIGIT = [_digits(True), WORDS]
# How each of llama.cpp's names splits text, as steps of a tokenizer.json
SPLITTING: dict[str, list[dict[str, Any]]] = {
    **{name: [WORDS] for name in ("gpt-2", "mellum", "olmo")},
    **dict.fromkeys(("starcoder", "smollm", "refact", "codeshell"), _EACH_DIGIT),
    "qwen2": [_split(QWEN_PATTERN), BYTES],
    **dict.fromkeys(("dbrx", "llama-bpe", "falcon-h1", "falcon3", "lfm2"), _THREE_DIGITS),
    "deepseek-coder": [
        *(_split(rule) for rule in (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+")),
        _digits(True),
        BYTES,
    ],
    "falcon": [
        {"type": "Punctuation", "behavior": "Contiguous"},
        WORDS,
        _digits(False),
        _split("[0-9][0-9][0-9]"),
    ],
}
WHOLE_WORDS_FIRST = frozenset(["llama-bpe", "falcon-h1", "falcon3", "lfm2"])  # a word of the vocabulary is not split
# llama.cpp's names for our roles; a key that is not there is looked for by llama.cpp itself.
ROLE_KEYS = {
    "bos": "end_of_text",
    "eos": "end_of_text",
    "padding": "pad",
    "fim_pre": "fim_prefix",
    "fim_suf": "fim_suffix",
    "fim_mid": "fim_middle",
}
OWN_KEYS = "tokenizer.codecoil."  # llama.cpp looks at none of them
FORMER_NAMES = "fim_renamed_from"  # prefix, suffix, middle, as they were called before they were taught
OWN_RULE = (
    "llama.cpp does not know the rule by which this tokenizer splits text and uses a coarser one: about one token in"
    " a hundred of a text may be another one than here. Scores of the same tokens are the same."
)
SUFFIX_FIRST = (
    "It fills in the middle with the text after the cursor first: start llama-server with --spm-infill to use that."
)
UNKNOWN_RULE = (
    "llama.cpp does not know the rule by which this tokenizer splits text: it uses GPT-2's, and tokens may differ."
)


@dataclass(frozen=True)
class Vocabulary:
    """What the `tokenizer.ggml` keys of a GGUF file hold."""

    pre: str
    tokens: list[str]
    types: list[int]
    merges: list[str]
    special: dict[str, int]
    notes: tuple[str, ...]
    former_names: tuple[str, ...] = ()  # of the tokens for filling in, if that was taught here


def description_from(keys: dict[str, Any], where: str) -> dict[str, Any]:
    """The tokenizer.json that says what the `tokenizer.ggml` keys of a file say; `where` names the file."""
    if keys.get("model") != "gpt2":
        raise CheckpointError(
            f"{where} has a tokenizer of the kind {keys.get('model')!r}; only byte-level BPE (gpt2) is read.",
            "Choose a model with such a tokenizer (Qwen, Granite, SmolLM2 and DeepSeek-Coder have one).",
        )
    if keys.get("pre", "gpt-2") not in SPLITTING:
        raise CheckpointError(
            f"{where} splits text by the rule {keys.get('pre')!r}, which is not known here.",
            "Import the model as a Hugging Face folder, with its tokenizer.json.",
        )
    pre, tokens, merges = keys.get("pre", "gpt-2"), keys.get("tokens"), keys.get("merges")
    types = keys.get("token_type") or [NORMAL] * len(tokens or ())
    if not isinstance(tokens, list) or not isinstance(merges, list) or len(types) != len(tokens):
        raise CheckpointError(f"{where} has no complete tokenizer.", "Copy or download the file again.")
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    former = dict(zip(FIM_NAMES, keys.get(FORMER_NAMES) or (), strict=False))
    added = [
        {"id": number, "content": token, "special": kind == CONTROL}
        | flags
        | ({FORMER_NAME: former[token]} if token in former else {})
        for number, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (CONTROL, USER_DEFINED)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": SPLITTING[pre]},
        "post_processor": None,
        "decoder": WORDS,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens) if types[number] != UNUSED},
            "merges": [merge.split(" ", 1) for merge in merges],
            "ignore_merges": pre in WHOLE_WORDS_FIRST,
        },
    }


def read_vocabulary(path: Path, vocab_size: int) -> Vocabulary:
    """The tokenizer at `path`, filled up with unused entries to the size of the model's vocabulary."""
    tokenizer = Tokenizer.load(path)  # refuses what is no byte-level BPE
    description = read_description(path)
    vocab, added = description["model"]["vocab"], description.get("added_tokens") or []
    names = {number: token for token, number in vocab.items()}
    types = dict.fromkeys(names, NORMAL)
    for token in added:
        names[token["id"]], types[token["id"]] = token["content"], USER_DEFINED
    types.update(dict.fromkeys(tokenizer.special_ids, CONTROL))
    if max(names) >= vocab_size:
        raise CheckpointError(
            f"{path} has ids up to {max(names)}; the model has {vocab_size} entries.", "They do not belong together."
        )
    taken = set(names.values())
    for number in range(vocab_size):
        if number not in names:
            names[number], types[number] = _free_name(number, taken), UNUSED
    pre, note = _rule(description["pre_tokenizer"])
    ids = {key: getattr(tokenizer.special, role) for key, role in ROLE_KEYS.items()}
    return Vocabulary(
        pre,
        [names[number] for number in range(vocab_size)],
        [types[number] for number in range(vocab_size)],
        [merge if isinstance(merge, str) else " ".join(merge) for merge in description["model"]["merges"]],
        {key: number for key, number in ids.items() if number is not None},
        tuple(filter(None, (note, SUFFIX_FIRST if tokenizer.has_taught_fim else ""))),
        tuple(map(former.get, FIM_NAMES)) if (former := former_names(description)) else (),
    )


def _free_name(number: int, taken: set[str]) -> str:
    name = f"[PAD{number}]"
    while name in taken:
        name = f"[{name}]"
    taken.add(name)
    return name


def _rule(step: dict[str, Any]) -> tuple[str, str]:
    """llama.cpp's name for a pre-tokenizer, and a note where it is not the same."""
    parts = _parts(step)
    kinds = [part.get("type") for part in parts]
    last = parts[-1]
    cuts_words = last.get("type") == "ByteLevel" and last.get("use_regex", True)
    for name, steps in SPLITTING.items():
        if list(map(_essence, parts)) == list(map(_essence, steps)):
            return name, ""
    if kinds == ["Split", "ByteLevel"] and not cuts_words:
        pattern = (parts[0].get("pattern") or {}).get("Regex")
        if pattern in NAMED_PATTERNS:
            pre = NAMED_PATTERNS[pattern]
            return pre, OWN_RULE if pattern == CODE_PATTERN else ""
    return "gpt-2", UNKNOWN_RULE


def _parts(step: dict[str, Any]) -> list[dict[str, Any]]:
    if step.get("type") != "Sequence":
        return [step]
    return [part for inner in step.get("pretokenizers") or [] for part in _parts(inner)]


def _essence(step: dict[str, Any]) -> tuple:
    """What a step does, without what makes no difference here."""
    kind = step.get("type")
    if kind == "ByteLevel":
        return kind, step.get("use_regex", True)
    if kind == "Digits":
        return kind, bool(step.get("individual_digits"))
    return kind, str((step.get("pattern") or {}).get("Regex")), str(step.get("behavior"))
