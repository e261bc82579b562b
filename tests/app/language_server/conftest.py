import pytest

from tests.app.language_server.editor import PlayedServer


@pytest.fixture
def played():
    """A server that answers every question at once; called with None, one whose answers the test gives."""
    servers = []

    def make(text="answer", replaces=0):
        servers.append(PlayedServer(text, replaces))
        return servers[-1]

    yield make
    for server in servers:
        server.close()
