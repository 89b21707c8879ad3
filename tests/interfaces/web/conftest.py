"""The explorer over a small real model."""

from contextlib import contextmanager

import pytest
from tests.explored import PATIENCE, running, small_imager, small_images

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi", reason="needs the extra web")


@pytest.fixture(scope="package")
def imager():
    return small_imager()


@pytest.fixture(scope="package")
def images():
    return small_images()


@contextmanager
def asking_of(application):
    """Ask an application over a real connection."""
    with (
        running(application) as address,
        httpx.Client(base_url=address, timeout=PATIENCE) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def asking():
    return asking_of


@pytest.fixture(scope="package")
def client(imager, images):
    """Ask the application as a browser on this machine would."""
    from sketchlasso.interfaces.web import create_app

    with asking_of(create_app(imager, images)) as client:
        yield client


@pytest.fixture(scope="package")
def ask(client):
    """Return the body of an answer, after a look at its status."""

    def get(path, status=200, **parameters):
        response = client.get(path, params=parameters)
        assert response.status_code == status, response.text
        return response.json()

    return get
