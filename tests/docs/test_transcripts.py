"""The recorded transcript holds what its commands print today."""

import re
from pathlib import Path

from typer.testing import CliRunner

from tests.docs.snippets import same

PAGE = Path(__file__).parents[2] / "docs" / "transcripts" / "command-line.md"
HEAD = re.compile(r" \| head -(\d+)$")


def test_the_commands_on_houses_print_what_the_page_shows(tmp_path, monkeypatch, real_file):
    """Those on rcv1 and NIPS take minutes; their words come from the same commands."""
    real_file("regression/california_housing.npz")
    from docs.transcripts.record import MISTAKES, WORK, block, write_houses

    from sketchlasso.interfaces.app import app

    recorded = re.findall(r"```\n(\$ .*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = {text.splitlines()[0]: text for text in recorded}
    write_houses(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [line for line in (*WORK, *(line for _, line in MISTAKES)) if "houses." in line]
    assert len(lines) == 6
    for line in lines:
        cut = HEAD.search(line)
        result = CliRunner().invoke(app, HEAD.sub("", line).split(), catch_exceptions=False)
        said = result.output.splitlines()[: int(cut[1]) if cut else None]
        printed = block(line, "\n".join(said), result.exit_code, tmp_path)
        text = shown[f"$ sketchlasso {line}"]
        assert same(*(re.sub(r"(?m)^seconds .*$", "", part) for part in (text, printed))), printed
