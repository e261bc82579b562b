import pytest

from tests.app.language_server.editor import PlayedServer


@pytest.fixture
def played():
    """A server that answers every question at once; called with None, one whose answers the test gives."""
    servers = []

    def make(text="answer"):
        servers.append(PlayedServer(text))
        return servers[-1]

    yield make
    for server in servers:
        server.close()
