"""Getting a base model from a stand-in of the hub: asked for, agreed to, checked, resumed, refused in words."""

from __future__ import annotations

import io
import json

import psutil
import pytest

from app.command_line import main
from app.network import base_model_fetching, connections
from app.network.agreement import FetchError, agreement_for
from app.network.base_model_fetching import fetch
from app.network.base_models import BASE_MODELS, base_model
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import ConfigError


class Enough(Exception):
    """The test has seen enough of a download."""


def nothing(done: int, total: int, words: str) -> None:
    """Nobody looks."""


@pytest.fixture
def guard():
    return connections.Guard()


# ---- fetching


def test_a_model_is_fetched_checked_and_taken_in(hub, tiny, data_folder, folder, guard):
    told = []
    manifest = fetch(agreement_for(tiny), data_folder, lambda *words: told.append(words), guard)
    store = CheckpointStore(data_folder / "checkpoints")
    assert [each.name for each in store.list()] == ["tiny-1m"] == [manifest.name]
    assert store.tokenizer_path(manifest.id) is not None and not store.verify(manifest.id)
    assert not (data_folder / "downloads" / "tiny-1m").exists()
    assert "pytorch_model.bin" not in hub.fetched() and set(hub.fetched()) <= {path.name for path in folder.iterdir()}
    done = [done for done, _, words in told if words.startswith("Fetching")]
    assert done == sorted(done) and "127.0.0.1" in told[0][2] and "Import" in told[-1][2]


def test_nothing_of_the_user_is_sent(hub, tiny, data_folder, guard, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(agreement_for(tiny), data_folder, nothing, guard)
    for headers in hub.headers:
        assert "hf_secret" not in json.dumps(headers) and not {"authorization", "cookie"} & headers.keys()


def test_the_guard_is_open_for_the_agreed_hosts_and_only_meanwhile(hub, tiny, data_folder, guard):
    seen = set()
    fetch(agreement_for(tiny), data_folder, lambda *_: seen.update(guard.open_permissions), guard)
    assert seen == {connections.Permission(("127.0.0.1",), "Get tiny-1m")}
    assert guard.open_permissions == ()


def test_no_connection_outlives_the_agreement(hub, tiny, data_folder, guard):
    fetch(agreement_for(tiny), data_folder, nothing, guard)
    port = int(hub.address.rpartition(":")[2])
    left = [each for each in psutil.Process().net_connections("tcp") if each.raddr and each.raddr.port == port]
    assert [each.status for each in left if each.status == "ESTABLISHED"] == []


def test_compiled_helpers_that_would_go_around_the_guard_are_off(hub, tiny, data_folder, guard):
    fetch(agreement_for(tiny), data_folder, nothing, guard)
    from huggingface_hub.utils._runtime import is_xet_available

    assert not is_xet_available()


def test_what_was_cut_off_is_gone_on_with(hub, tiny, data_folder, guard, monkeypatch):
    monkeypatch.setattr(base_model_fetching, "CHUNK", 4096)
    large = len(hub.files["model.safetensors"])

    def stop_half_way(done: int, total: int, words: str) -> None:
        if words == "Downloading model.safetensors" and done > large // 2:
            raise Enough

    with pytest.raises(Enough):
        fetch(agreement_for(tiny), data_folder, stop_half_way, guard)
    assert guard.open_permissions == () and CheckpointStore(data_folder / "checkpoints").list() == []
    hub.asked.clear()
    fetch(agreement_for(tiny), data_folder, nothing, guard)
    ranges = [wanted for method, path, wanted in hub.asked if method == "GET" and path.endswith("model.safetensors")]
    assert len(ranges) == 1 and int(ranges[0].removeprefix("bytes=").rstrip("-")) >= large // 2 - 8192
    assert "config.json" not in hub.fetched()  # it was whole


def test_a_connection_that_breaks_is_taken_up_again(hub, tiny, data_folder, guard, monkeypatch):
    monkeypatch.setattr(base_model_fetching, "PAUSE", 0.0)
    monkeypatch.setattr(base_model_fetching, "CHUNK", 1000)
    hub.breaks = [9000, 9000]
    assert fetch(agreement_for(tiny), data_folder, nothing, guard).name == "tiny-1m"
    assert hub.fetched().count("model.safetensors") == 3
    assert [wanted for *_, wanted in hub.asked if wanted] == ["bytes=9000-", "bytes=18000-"]


def test_a_connection_that_always_breaks_is_given_up(hub, tiny, data_folder, guard, monkeypatch):
    monkeypatch.setattr(base_model_fetching, "PAUSE", 0.0)
    hub.breaks = [0] * 9
    with pytest.raises(FetchError, match="cannot be reached"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert hub.fetched().count("model.safetensors") == base_model_fetching.TRIES


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_a_wrong_hash_throws_that_file_away_and_no_other(hub, tiny, data_folder, guard, file):
    hub.stated[file] = "0" * (64 if file.endswith(".safetensors") else 40)
    with pytest.raises(FetchError, match=f"{file} does not match the checksum"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert not list((data_folder / "downloads" / "tiny-1m").glob(f"{file}*"))
    assert CheckpointStore(data_folder / "checkpoints").list() == []
    hub.asked.clear()
    hub.stated.clear()
    fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert hub.fetched() == [file]


def test_more_than_was_agreed_to_is_not_fetched(hub, tiny, data_folder, guard):
    hub.sizes["model.safetensors"] = 2 * tiny.nbytes
    with pytest.raises(FetchError, match="you agreed to about"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert hub.fetched() == []


def test_a_hub_without_it_and_no_hub_at_all_are_said_in_words(hub, tiny, data_folder, guard, monkeypatch):
    monkeypatch.setattr(base_model_fetching, "PAUSE", 0.0)
    hub.missing = True
    with pytest.raises(FetchError, match="has no model somebody/tiny-1m-hf"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(FetchError, match="cannot be reached"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)


def test_a_full_disk_is_said_before_anything_is_fetched(hub, tiny, data_folder, guard, monkeypatch):
    monkeypatch.setattr(base_model_fetching.shutil, "disk_usage", lambda _: type("Use", (), {"free": 10})())
    with pytest.raises(FetchError, match="GB free"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert hub.asked == []


# ---- what is agreed to


@pytest.fixture
def no_proxies(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_question_names_host_size_and_licence(no_proxies):
    agreement = agreement_for(base_model("mamba-130m"))
    assert agreement.hosts == ("huggingface.co", "hf.co")
    for words in ("huggingface.co", "493 MiB", "Apache-2.0"):
        assert words in agreement.question


@pytest.mark.parametrize(
    ("variables", "proxies"),
    [
        ({"https_proxy": "http://proxy.example.org:3128"}, ("proxy.example.org",)),
        ({"ALL_PROXY": "http://proxy.example.org:3128"}, ("proxy.example.org",)),
        ({"ALL_PROXY": "http://other.example.org", "HTTPS_PROXY": "proxy.example.org:3128"}, ("proxy.example.org",)),
        ({"https_proxy": "http://proxy.example.org", "no_proxy": "huggingface.co, hf.co"}, ()),
        ({"https_proxy": "http://proxy.example.org", "no_proxy": "huggingface.co"}, ("proxy.example.org",)),
        ({"https_proxy": "http://proxy.example.org", "no_proxy": "*"}, ()),
        ({"http_proxy": "http://proxy.example.org"}, ()),
    ],
)
def test_a_proxy_that_would_be_used_is_named_and_no_other(no_proxies, monkeypatch, variables, proxies):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert agreement_for(base_model("mamba-130m")).hosts == ("huggingface.co", "hf.co", *proxies)


@pytest.mark.parametrize("model", BASE_MODELS, ids=lambda model: model.name)
def test_the_list_states_true_sizes(model):
    from engine.model.files import config_from_keys

    assert config_from_keys(model.sizes, model.name).parameter_count == model.parameters


@pytest.mark.parametrize(("name", "few"), [("mamba-130m", "wsla"), ("qwen2.5-coder-0.5b", "qk")])
def test_the_memory_is_what_the_engine_estimates(name, few):
    import engine
    from engine.model.files import config_from_keys
    from engine.train.options import DEFAULT_PRESET, preset

    model, options = base_model(name), preset(DEFAULT_PRESET)
    device = engine.open_device("cpu")
    try:
        memory = model.memory_by_mode(device)
        config = config_from_keys(model.sizes, name)
        shape = options.batch_size, options.sequence_length
        assert memory[few] == sum(engine.estimate_training(config, device, few, *shape).values())
    finally:
        device.close()
    assert set(memory) == {"full", "vocabulary", "lora", few}
    assert memory["full"] > 4 * 4 * model.parameters > memory["lora"] > 4 * model.parameters


# ---- the command


def test_the_command_lists_without_connecting(capsys):
    assert main(["base", "list"]) == 0
    out = capsys.readouterr().out
    for model in BASE_MODELS:
        assert model.name in out and model.repository in out and model.licence in out
    assert main(["base", "list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["bytes"] for entry in entries] == [model.nbytes for model in BASE_MODELS]


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_the_command_fetches_nothing_without_a_yes(hub, tiny, capsys, monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert main(["base", "get", "tiny-1m"]) == 1
    assert "127.0.0.1" in capsys.readouterr().out and hub.asked == []


def test_the_command_fetches_after_a_yes(hub, tiny, capsys, monkeypatch, data_folder):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["base", "get", "tiny-1m"]) == 0
    assert "tiny-1m is in the store" in capsys.readouterr().out
    assert main(["base", "get", "tiny-1m", "--yes"]) == 0  # known again
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


def test_an_unknown_name_is_refused(capsys):
    assert main(["base", "get", "gigantic"]) == 2
    assert "mamba-130m" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        base_model("gigantic")
