"""Which language a file is written in, and what its path alone says about it: lock file, vendored, generated.

Extensions, file names and interpreters come from `identify`, the list that pre-commit keeps; a file has one language
here, where identify gives it several tags. What identify does not know, or calls by an unusual name, is added below.
"""

from __future__ import annotations

import re
from functools import lru_cache

from identify import extensions, interpreters

UNKNOWN = "text"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Tags that say something about a file, but not which language it is in.
NOT_LANGUAGES = _set(
    """text binary executable header image audio video archive msbuild xcodebuild lazarus bats alpm twisted"""
)
# Of several tags the one that a person would name: the first of these that is among them.
PREFERRED = _words(
    """jupyter svg geojson clojurescript objective-c++ c shell c++ clojure python ruby scala groovy pascal html json
    yaml toml ini plist c# f# meson gitignore xml"""
)
BETTER_NAMES = {"ts": "typescript", "plain-text": UNKNOWN, "pyi": "python", "luau": "lua"}

MORE_EXTENSIONS = {
    "ada": "ada", "adb": "ada", "ads": "ada", "cjs": "javascript", "cl": "opencl", "cob": "cobol", "cts": "typescript",
    "d": "d", "el": "emacs-lisp", "f": "fortran", "f77": "fortran", "f95": "fortran", "fs": "f#", "fx": "hlsl",
    "glsl": "glsl", "vert": "glsl", "frag": "glsl", "comp": "glsl", "gradle": "groovy", "hack": "hack", "hx": "haxe",
    "jsonl": "jsonl", "ndjson": "jsonl", "lisp": "common-lisp", "lsp": "common-lisp", "m": "objective-c",
    "mjs": "javascript", "mts": "typescript", "mojo": "mojo", "odin": "odin", "pas": "pascal", "pl": "perl",
    "pm": "perl", "ps1": "powershell", "psm1": "powershell", "pyx": "cython", "pxd": "cython", "rkt": "racket",
    "tcl": "tcl", "tf": "terraform", "v": "verilog", "vbs": "vb", "wat": "webassembly", "wgsl": "wgsl", "rb": "ruby",
    "rake": "ruby", "gemspec": "ruby", "thy": "isabelle", "agda": "agda", "coq": "coq", "sml": "standard-ml",
    "mk": "makefile",
}  # fmt: skip
MORE_NAMES = {"rakefile": "ruby", "gemfile": "ruby", "podfile": "ruby", "vagrantfile": "ruby", "brewfile": "ruby",
              "fastfile": "ruby", "justfile": "just", "build.bazel": "bazel", "cmakelists.txt": "cmake"}  # fmt: skip
MORE_BINARY = _set(
    """7z a apk avi bz2 cab class deb dmg dylib flac gguf gz h5 hdf5 iso joblib keystore lz4 lzma m4a mkv mov mp3
    mp4 mpg msi npy npz o odt ogg onnx ova parquet pickle pkl pt pth pyc pyd pyo rar rlib rmeta rpm safetensors
    sqlite sqlite3 tgz tflite ttc wasm webm wmv xls xlsx doc docx ppt pptx xz zst"""
)
PROSE = frozenset({"markdown", "text", "rst", "asciidoc", "tex", "mdx", "myst"})

VENDORED_FOLDERS = _set(
    """node_modules bower_components jspm_packages vendor vendored third_party third-party thirdparty 3rdparty
    _vendor _vendored pods carthage godeps site-packages dist-packages .venv venv virtualenv .tox .nox .eggs
    .yarn .pnpm-store .bundle .gradle .m2 .cargo _deps cmakefiles elm-stuff"""
)
LOCK_FILES = _set(
    """package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-lock.yml bun.lock bun.lockb deno.lock
    poetry.lock pipfile.lock pdm.lock uv.lock pixi.lock conda-lock.yml conda-lock.yaml pylock.toml cargo.lock
    gemfile.lock composer.lock go.sum go.work.sum mix.lock rebar.lock pubspec.lock podfile.lock
    cartfile.resolved package.resolved packages.lock.json project.assets.json paket.lock flake.lock
    gradle.lockfile buildscript-gradle.lockfile .terraform.lock.hcl module.bazel.lock cabal.project.freeze
    stack.yaml.lock shard.lock rush-lock.yaml berksfile.lock chart.lock glide.lock gopkg.lock spago.lock"""
)
GENERATED_FOLDERS = _set("__generated__ __snapshots__ __pycache__ .next .nuxt .svelte-kit _site _build")
GENERATED_FOLDER_ENDS = (".egg-info", ".dist-info")
GENERATED_NAME = re.compile(
    r"""_pb2(_grpc)?\.pyi?$ | \.pb(\.\w+)?\.(go|cc|h|rb|swift|dart)$ | [._]generated\.\w+$ | \.g(\.\w+)?\.(dart|cs)$
      | \.freezed\.dart$ | \.designer\.(cs|vb)$ | ^zz_generated | \.(js|css|mjs|cjs)\.map$ | \.snap$ | \.g\.i\.cs$
      | ^\.pnp\.c?js$ | ^moc_\w+\.cpp$ | \.tab\.[ch]$ | ^lex\.yy\.c$
      | _rc\.py$ | ^qrc_\w+\.cpp$ | \.bundle\.js$ | ^gradlew(\.bat)?$ | ^mvnw(\.cmd)?$""",
    re.VERBOSE | re.IGNORECASE,
)
MINIFIED_NAME = re.compile(r"[.-]min\.(js|css|mjs|cjs|html)$", re.IGNORECASE)
GENERATED_WORDS = re.compile(
    r"""@generated\b | \bcode\ generated\ by\b | \bgenerated\ by\ the\ protocol\ buffer\ compiler\b
      | \b(file|code|module|source|header|class|document)\b[^.\n]{0,40}\b(auto-?generated|automatically\ generated)\b
      | \bthis\ (file|code|module|source|header)\ (is|was|has\ been)\ (\w+\ )?generated\b
      | ^\W*(auto-?generated|automatically\ generated)\ (by|from|with|using|file|code)\b
      | \bgenerated\b.{0,160}\b(do\ not|don't|never)\ (edit|modify|change)\b
      | \b(do\ not|don't|never)\ (edit|modify|change)\b.{0,160}\bgenerated\b
      | \bcreated\ by:\ (qt\ user\ interface\ compiler|pyqt\d\ ui\ code\ generator|the\ resource\ compiler)\b
      | ^\W*resource\ object\ code\b""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
# Plainer words: in the comment that a file opens with they speak of the file, further down of something else.
GENERATED_OPENING = re.compile(
    r"""^\W*((man\ page|makefile\S*|configure|file|form|code)\ )?((was|is)\ )?generated\ (by|from|with|using)\b""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# Words like these count at the top of a file, where a generator puts them.
TOP_CHARACTERS = 1500
COMMENT_LINES = re.compile(
    r"""(?im)^[ \t]*(?:\#|//|/?\*|--|;|<!--|%|\"\"\"|\(\*|\{-|[.']\\\"|\.\.\ |rem\b|@rem\b|dnl\b)[^\n]*""",
    re.VERBOSE,
)
SHEBANG = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-\S+[ \t]+)*([^\s=]+))?")


def _one(tags: set[str] | frozenset[str]) -> str:
    """The language among identify's tags for a file."""
    left = tags - NOT_LANGUAGES
    for tag in PREFERRED:
        if tag in left:
            return tag
    tag = min(left, default=UNKNOWN)
    return BETTER_NAMES.get(tag, tag)


_BINARY = frozenset(ext for ext, tags in extensions.EXTENSIONS.items() if "binary" in tags) | MORE_BINARY
_EXTENSIONS = {ext: _one(tags) for ext, tags in extensions.EXTENSIONS.items() if ext not in _BINARY}
_EXTENSIONS |= {ext: _one(tags) for ext, tags in extensions.EXTENSIONS_NEED_BINARY_CHECK.items()}
_EXTENSIONS |= {ext: language for ext, language in MORE_EXTENSIONS.items() if ext not in _EXTENSIONS}
_NAMES = {name.lower(): _one(tags) for name, tags in extensions.NAMES.items()} | MORE_NAMES
_INTERPRETERS = {name: _one(tags) for name, tags in interpreters.INTERPRETERS.items()} | {
    "deno": "typescript", "bun": "javascript", "lua": "lua", "tclsh": "tcl", "rscript": "r", "julia": "julia",
    "fish": "fish", "pwsh": "powershell", "make": "makefile", "groovy": "groovy", "guile": "scheme",
}  # fmt: skip


def language_of(path: str, first_bytes: bytes = b"") -> str:
    """The language by file name, extension, or the interpreter in a script's first line.

    "text" if nothing says more, "" for a format that is never text: an image has no language.
    """
    if is_binary_name(path):
        return ""
    name = path.rpartition("/")[2].lower()
    return _by_name(name) or (_by_shebang(first_bytes) if first_bytes[:2] == b"#!" else "") or UNKNOWN


def _by_name(name: str) -> str:
    """By the whole name, then by its extensions from the last (a.b.c: c, then b): "Dockerfile.dev", "x.py.in"."""
    if name in _NAMES:
        return _NAMES[name]
    parts = name.split(".")
    for extension in parts[:0:-1]:
        if found := _EXTENSIONS.get(extension):
            return found
    return _NAMES.get(parts[0], "") if parts[0] else ""


def _by_shebang(first_bytes: bytes) -> str:
    """The language of the program in a "#!" line; `env` names it as its first argument that is no option."""
    found = SHEBANG.match(first_bytes.split(b"\n", 1)[0])
    if not found:
        return ""
    program = found[1].rpartition(b"/")[2]
    if program == b"env" and found[2]:
        program = found[2].rpartition(b"/")[2]
    name = program.decode("ascii", "replace").lower()
    while name:
        if name in _INTERPRETERS:
            return _INTERPRETERS[name]
        shorter = name.rpartition(".")[0] or name.rstrip("0123456789")  # python3.11, ruby2
        if shorter == name:
            return ""
        name = shorter
    return ""


def is_binary_name(path: str) -> bool:
    """True if the extension is that of a format that is never text."""
    return path.rpartition("/")[2].rpartition(".")[2].lower() in _BINARY and "." in path.rpartition("/")[2]


def is_lock_file(path: str) -> bool:
    """True for files in which a package manager notes exact versions."""
    return path.rpartition("/")[2].lower() in LOCK_FILES


def vendored_folder(path: str) -> str | None:
    """The folder on the way that is kept for other people's code ("web/node_modules"), None if there is none."""
    return _folder_among(path, VENDORED_FOLDERS)


@lru_cache(maxsize=4096)
def _folder_inside(folder: str, names: frozenset[str]) -> str | None:
    parts = folder.split("/")
    for i, part in enumerate(parts, 1):
        if part.lower() in names or (names is GENERATED_FOLDERS and part.lower().endswith(GENERATED_FOLDER_ENDS)):
            return "/".join(parts[:i])
    return None


def _folder_among(path: str, names: frozenset[str]) -> str | None:
    folder = path.rstrip("/").rpartition("/")[0]
    return _folder_inside(folder, names) if folder else None


def generated_name(path: str) -> str | None:
    """Why the path says that a program wrote this file; None if it does not."""
    if folder := _folder_among(path, GENERATED_FOLDERS):
        return f"in {folder}"
    return "by file name" if GENERATED_NAME.search(path.rpartition("/")[2]) else None


def generated_text(text: str) -> str | None:
    """Why the top of the text says that a program wrote it; None if it does not."""
    top = text[:TOP_CHARACTERS]
    lowered = top.lower()
    if "generated" not in lowered and "created by" not in lowered:
        return None
    comments = "\n".join(COMMENT_LINES.findall(top))
    found = GENERATED_WORDS.search(comments) or GENERATED_OPENING.search(_opening_comment(top))
    if not found:
        return None
    return f"see line {top.count(chr(10), 0, max(top.find(found[0].split(chr(10))[0]), 0)) + 1}"


def _opening_comment(top: str) -> str:
    """The comment lines before anything else."""
    lines = []
    for line in top.split("\n"):
        if line.strip() and not COMMENT_LINES.match(line):
            break
        lines.append(line)
    return "\n".join(lines)


def minified_name(path: str) -> bool:
    """True for names like app.min.js."""
    return MINIFIED_NAME.search(path) is not None
