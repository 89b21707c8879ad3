"""Python blocks of a Markdown page, run in order, and what the page says they print."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BLOCK = re.compile(
    r'^```python\n(?P<code>.*?)^```\n(?:\n```text title="Output"\n(?P<shown>.*?)^```\n)?',
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    code: str
    shown: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        line = page.count("\n", 0, found.start("code")) + 1
        yield Block(found["code"], found["shown"] or "", line)


def run_block(block: Block, title: str, namespace: dict[str, Any]) -> str:
    """What the block prints; line numbers in a traceback are those of the page."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.code, title, "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def same(shown: str, printed: str) -> bool:
    """Equal words, and numbers that differ by rounding on another machine at most.

    Gaps (written as 3e-07) only have to be as small as shown, within a factor of a thousand:
    below the tolerance their digits are chance.
    """
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    return all(map(_close, NUMBER.findall(shown), NUMBER.findall(printed)))


def _close(shown: str, printed: str) -> bool:
    expected, came = (float(number.replace(",", "")) for number in (shown, printed))
    if "e" in shown or "e" in printed:
        return abs(came) <= 1e3 * max(abs(expected), 1e-9)
    return abs(came - expected) <= max(0.05 * abs(expected), 0.011)
