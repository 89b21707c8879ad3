"""Topics to begin with, and everything about them as files."""

import csv
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from sketchlasso.topics import load_topics
from tests.interfaces.posts import posts

pytest.importorskip("networkx", reason="needs the extra graph")


@pytest.fixture
def grouped(ask):
    """A model of posts with a column of years."""
    with Path("years.jsonl").open("w", encoding="utf-8") as file:
        for number, record in enumerate(posts(0)):
            # Markup, and a character that XML cannot hold.
            record |= {"year": str(2000 + number % 3), "name": f"<i>{record['name']}</i>\x1b"}
            file.write(json.dumps(record) + "\n")
    ask(
        "topics fit years.jsonl --column body --title-column name --group-column year --rank 8 "
        "-o years.topics"
    )
    return "years.topics"


def test_topics_are_listed_with_labels_sizes_and_examples(ask, grouped):
    said = ask(f"topics list {grouped}").stdout
    assert "3 topics" in said
    assert "violin" in said
    assert "share of each topic by group" in said
    found = json.loads(ask(f"topics list {grouped} --json").stdout)
    assert sum(topic["n_documents"] for topic in found["topics"]) == 90
    assert all(topic["stability"] > 0.5 for topic in found["topics"])
    assert found["over"]["groups"] == ["2000", "2001", "2002"]
    # Posts take turns, so every year has a subject of its own.
    assert all(max(row) > 0.6 for row in found["over"]["shares"])
    quick = json.loads(ask(f"topics list {grouped} --no-stability --json").stdout)
    assert quick["topics"][0]["stability"] is None


def test_everything_is_exported(ask, grouped):
    ask(f"topics all {grouped} -o years.images")
    found = json.loads(ask(f"topics export {grouped} --images years.images -o out --json").stdout)
    out = Path("out")
    assert sorted(found["files"]) == sorted(path.name for path in out.iterdir())
    with (out / "documents.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 90
    assert rows[0]["title"] == "<i>sea 0</i>\x1b"
    assert rows[4]["group"] == "2001"
    main = int(rows[0]["main topic"])
    assert float(rows[0][f"topic {main}"]) > 0.5
    data = json.loads((out / "topics.json").read_text(encoding="utf-8"))
    assert data["source"].endswith(".jsonl") and "/" not in data["source"]
    assert "sea" in data["topics"][main - 1]["words"]
    imager = load_topics(grouped)
    image = imager.image("sea")
    assert {word for word, _ in data["words"]["sea"]["image"]} == set(image.words)
    with (out / "words.csv").open(encoding="utf-8", newline="") as file:
        words = {row["word"]: row for row in csv.DictReader(file)}
    assert words["sea"]["topic"] == str(main)
    assert set(words["sea"]["image"].replace("-", "").split()) == set(image.words)
    ET.parse(out / "map.svg")
    page = (out / "topics.html").read_text(encoding="utf-8")
    assert "<i>" not in page.split("<script", 1)[0]
    assert "\x1b" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert (out / "over.csv").read_text().count("\n") == 4


def test_a_file_where_the_folder_belongs(ask, grouped):
    said = ask(f"topics export {grouped} --no-stability -o years.jsonl", 2).stderr
    assert "years.jsonl exists and was not written by this command" in said
    said = ask(f"topics export {grouped} --no-stability -o years.jsonl/inside", 3).stderr
    assert "there is no folder years.jsonl" in said


def test_a_full_disk_leaves_the_exported_files_as_they_were(ask, grouped, monkeypatch):
    ask(f"topics export {grouped} --no-stability -o out")
    Path("out/topics.csv").chmod(0o664)
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    sync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    said = ask(f"topics export {grouped} --no-stability -o out", 3).stderr
    assert "could not be written (No space left on device)" in said
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    assert Path("out/topics.csv").stat().st_mode & 0o777 == 0o664


def test_one_unknown_word_does_not_stop_the_others(ask):
    result = ask("topics image {made}/posts.topics Sea eight violinn")
    assert "sea: strong" in result.stdout
    assert "'eight' is a stop word" in result.stderr
    assert "did you mean violin" in result.stderr
    found = json.loads(ask("topics image {made}/posts.topics sea zzz --json").stdout)
    assert found["unknown"] == ["zzz"]
    assert found["images"][0]["quality"] == "strong"
    assert found["images"][0]["held_out"] > 0.1
    assert "stop word" in ask("topics image {made}/posts.topics eight", 2).stderr
