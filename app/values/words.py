"""Numbers and states as words for people: the same ones on the command line and in the window.  No Qt, no engine."""

from __future__ import annotations

import math

KINDS = {
    "cpu": "processor",
    "discrete": "graphics card",
    "integrated": "integrated graphics",
    "software": "software adapter",
    "unknown": "unknown type",
}


def kind_words(kind: str) -> str:
    """What a device is, in a word or two."""
    return KINDS.get(kind, kind)


def device_words(name: str) -> str:
    """A device inside a sentence; an adapter has only its name."""
    return "the CPU" if name == "cpu" else name


def small_number(value: float) -> str:
    """An error or a limit: 0, 1.2e-07, or "none" for NaN."""
    if math.isnan(value):
        return "none"
    return "0" if value == 0 else f"{value:.1e}"


def share(error: float, limit: float) -> float:
    """How much of its limit an error uses up: 1.0 is all of it.  A limit of 0 demands equality."""
    if limit > 0 and not math.isnan(error):
        return error / limit
    return 0.0 if error == 0 else math.inf


def percent(fraction: float) -> str:
    """A share for people, never rounded to the other side of 100 %."""
    if math.isinf(fraction):
        return "over"
    if fraction > 9.99:
        return "> 999 %"
    whole = math.floor(fraction * 100) if fraction < 1 else math.ceil(fraction * 100)
    return "< 1 %" if whole == 0 < fraction else f"{whole} %"


def duration(seconds: float) -> str:
    """0.4 s, 12 s, 2:48."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def milliseconds(value: float) -> str:
    """The time of one kernel: 0.7 ms, 836 ms, 2.6 s."""
    if value < 100:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def nbytes(count: int) -> str:
    """128 MiB, 4.0 GiB."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            value = count / size
            return f"{value:.0f} {unit}" if value == int(value) or value >= 100 else f"{value:.1f} {unit}"
    return f"{count} B"


def limit_words(name: str, value: int) -> str:
    """One limit of a device: its name in plain words and its value with a unit where it has one."""
    words = name.replace("_", " ").replace("-", " ")
    if words.endswith((" bytes", " size")) and "workgroup size" not in words:
        return f"{words.removesuffix(' bytes').removesuffix(' size')} {nbytes(value)}"
    return f"{words} {value:,}"


def about(seconds: float) -> str:
    """An estimate, no more precise than it can be: 40 s, 3 min, 1 h 20 min."""
    if seconds < 55:
        return f"{max(5, round(seconds / 5) * 5)} s"
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(5 * round(minutes / 5), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def rate(tokens_per_second: float) -> str:
    """A measured speed, no more precise than it is: 7.4, 23, 160 or 1,200 tokens/s."""
    if tokens_per_second < 9.95:
        return f"{tokens_per_second:.1f} tokens/s"
    unit = 10 ** (len(str(round(tokens_per_second))) - 2)
    return f"{round(tokens_per_second / unit) * unit:,} tokens/s"


def counted(number: int, what: str) -> str:
    """1 file, 2,345 files."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def thousands(number: int) -> str:
    """A large count in little room: 840, 12,300, 1.4 M, 1.5 B."""
    if number < 1_000_000:
        return f"{number:,}"
    if number >= 1e9:
        return f"{number / 1e9:.1f} B"
    return f"{number / 1e6:.1f} M" if number < 1e8 else f"{number / 1e6:.0f} M"


MODES = {  # what made a checkpoint
    "wsla": "WSLA",
    "qk": "Queries and keys",
    "lora": "LoRA",
    "vocabulary": "Vocabulary",
    "full": "Full",
    "merge": "Merge",
    "import": "Imported",
    "base": "Base",
}


def mode_words(mode: str) -> str:
    """What a mode is called."""
    return MODES.get(mode, mode)


LANGUAGES = {
    "clojurescript": "ClojureScript",
    "cmake": "CMake",
    "coffee": "CoffeeScript",
    "dotenv": "Environment",
    "gdscript": "GDScript",
    "graphql": "GraphQL",
    "java-properties": "Java properties",
    "javascript": "JavaScript",
    "objective-c": "Objective-C",
    "objective-c++": "Objective-C++",
    "ocaml": "OCaml",
    "opencl": "OpenCL",
    "powershell": "PowerShell",
    "proto": "Protocol Buffers",
    "purescript": "PureScript",
    "rst": "reStructuredText",
    "standard-ml": "Standard ML",
    "system-verilog": "SystemVerilog",
    "tex": "TeX",
    "typescript": "TypeScript",
    "webassembly": "WebAssembly",
}
ABBREVIATIONS = {"css", "csv", "cuda", "glsl", "hcl", "hlsl", "html", "ini", "json", "jsx", "php", "qml", "sas", "scss"}
ABBREVIATIONS |= {"sql", "svg", "toml", "tsv", "tsx", "vhdl", "wgsl", "xml", "yaml"}


def language_words(language: str) -> str:
    """A language's name as people write it; the engine has it in lower case."""
    if language in ABBREVIATIONS:
        return language.upper()
    return LANGUAGES.get(language) or (language[:1].upper() + language[1:] if language else "no language")
