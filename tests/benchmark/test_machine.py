"""What is said about a machine says nothing about its owner."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from engine.benchmark import machine
from engine.benchmark.machine import describe, without_private
from engine.devices import DeviceInfo


@pytest.fixture
def owner(monkeypatch):
    monkeypatch.setattr(machine.getpass, "getuser", lambda: "ada")
    monkeypatch.setattr(machine.platform, "node", lambda: "lovelace-laptop.example.org")
    monkeypatch.setattr(machine.Path, "home", lambda: Path("/home/ada"))


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("No shader cache in /home/ada/.cache/mesa: full.", "No shader cache in …: full."),
        (r"Cannot open C:\Users\Ada\AppData\driver.dll", "Cannot open …"),
        ("~/secret/file is missing", "… is missing"),
        ("built by ada@lovelace-laptop", "built by …@…"),
        ("Host LOVELACE-LAPTOP.example.org", "Host …"),
        ("Radeon 780M (RADV GFX1103_R1), 12 CUs, NVK/Zink", "Radeon 780M (RADV GFX1103_R1), 12 CUs, NVK/Zink"),
        ("Mesa 24.1.2 (git-3c2f9d) for Canada", "Mesa 24.1.2 (git-3c2f9d) for Canada"),
        ("0.25 GFLOP/s and 3/4 of it", "0.25 GFLOP/s and 3/4 of it"),
    ],
)
def test_paths_and_names_are_left_out_and_nothing_else(said, left, owner):
    assert without_private(said) == left


def test_a_machine_is_described_by_what_computes(owner):
    found = describe(DeviceInfo("webgpu:0", "Card of ada", "Vulkan", "discrete", "driver from /home/ada/mesa/lib"))
    said = str(asdict(found)).lower()
    assert "ada" not in said.replace("adapter", "") and "lovelace" not in said and "/" not in found.driver
    assert found.processor and found.threads >= 1 and found.system
    assert dict(found.versions).keys() >= {"Python", "numpy", "wgpu"}


def test_a_kernel_says_its_number_and_not_who_built_it(owner, monkeypatch):
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr(machine.platform, "release", lambda: "6.9.3-acme-secret+")
    monkeypatch.setattr(machine.platform, "freedesktop_os_release", lambda: {"PRETTY_NAME": "Debian 12"})
    assert machine.system_words().startswith("Debian 12, kernel 6.9.3 (")
