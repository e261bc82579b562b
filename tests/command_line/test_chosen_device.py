"""Every command holds the device to the memory ceiling of the settings."""

import json

import pytest

from app.command_line import main
from app.command_line.chosen_device import open_chosen_device
from app.data.settings_file import FIELDS

MIB = 2**20


@pytest.mark.parametrize(
    ("content", "ceiling"),
    [
        (json.dumps({"memory_ceiling": 700 * MIB}), 700 * MIB),
        (json.dumps({"memory_ceiling": 5}), FIELDS["memory_ceiling"].default),
        ("{", FIELDS["memory_ceiling"].default),
        (None, FIELDS["memory_ceiling"].default),
    ],
    ids=["set", "out of range", "damaged", "none"],
)
def test_the_ceiling_is_that_of_the_settings(content, ceiling, data_folder):
    data_folder.mkdir(exist_ok=True)
    if content is not None:
        (data_folder / "settings.json").write_text(content)
    device = open_chosen_device("cpu")
    assert device.ledger.ceiling == ceiling
    device.close()


def test_a_run_is_held_to_the_ceiling(repository, tiny_base, data_folder, capsys, monkeypatch):
    monkeypatch.setattr("engine.devices.single_kernel.warm_up", lambda device, report: None)
    (data_folder / "settings.json").write_text(json.dumps({"memory_ceiling": 300 * MIB}))
    options = ["--base", "tiny", "--steps", "1", "--sequence-length", "32", "--batch-size", "2", "--json"]
    main(["train", str(repository), "--device", "cpu", *options])
    assert json.loads(capsys.readouterr().out.splitlines()[0])["ceiling"] == 300 * MIB


@pytest.mark.parametrize("command", [["complete", "--prompt", "x = "], ["score", "."], ["train", "."]])
def test_no_command_opens_a_device_in_another_way(command, monkeypatch):
    class OpenedError(Exception):
        pass

    def opened(name, *, ceiling=None, **_rest):
        raise OpenedError(ceiling)

    monkeypatch.setattr("engine.devices.open_device", opened)
    with pytest.raises(OpenedError) as raised:
        main([*command, "--device", "cpu"])
    assert raised.value.args == (FIELDS["memory_ceiling"].default,)
