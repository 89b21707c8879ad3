"""Make the pictures of the README and of the first pages again.

Needs the extras ``plot`` and ``web``, the package Playwright and Chromium::

    python docs/images/make.py
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from PIL import Image
from sklearn.datasets import load_diabetes

import sketchlasso as sl
from sketchlasso.topics import TopicImager, embedded_corpus

FOLDER = Path(__file__).parent
LARGEST = 150_000  # bytes of a picture
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def save(name: str, picture: bytes) -> None:
    """Write a PNG with a palette of 256 colours, and refuse one that is too large."""
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(FOLDER / name, optimize=True)
    size = (FOLDER / name).stat().st_size
    print(f"{name}: {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{name} has {size:,} bytes; make it smaller than {LARGEST:,}.")


def search() -> None:
    """Coefficients along the path, and the cross-validation that chose a penalty."""
    data = load_diabetes()
    model = sl.SqrtLassoCV(selection="1se").fit(data.data, data.target)
    path = sl.sqrt_lasso_path(data.data, data.target, alphas=60, penalty_factor=model.scale_)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    sl.plots.plot_path(path, feature_names=data.feature_names, ax=axes[0])
    sl.plots.plot_cv(model, ax=axes[1])
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=130, format="png")
    plt.close(figure)
    save("search.png", drawn.getvalue())


@contextmanager
def served() -> Iterator[str]:
    """The explorer on the embedded corpus, on a free port of this machine."""
    import uvicorn

    from sketchlasso.interfaces.web import create_app

    imager = TopicImager(rank=200, random_state=0).fit(embedded_corpus())
    application = create_app(imager, imager.image_all())
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def photograph(page: Any, address: str, name: str) -> None:
    """One view of the explorer, after it has stopped moving."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2000)
    save(name, page.screenshot())


def explorer() -> None:
    """The image of one word."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("No Chromium found; install it (on Debian: apt-get install chromium).")
    with served() as address, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        photograph(page, f"{address}/?word=fourier", "explorer.png")
        chromium.close()


if __name__ == "__main__":
    matplotlib.use("Agg")
    for make in (search, explorer):
        if len(sys.argv) == 1 or make.__name__ in sys.argv[1:]:
            make()
