"""The quick form from end to end: its results, its report, and how it goes on after a stop."""

import json
import re
from html.parser import HTMLParser

import pytest
from reproduction.__main__ import NAMES, main, read_outcome, run_experiments
from reproduction.experiment import Plan
from reproduction.paper_figures import PAPER
from reproduction.report import findings_of, write_report
from tests.shared import made_once
from threadpoolctl import threadpool_limits

pytest.importorskip("matplotlib")
pytest.importorskip("clarabel")


def call(*words):
    with threadpool_limits(1):  # other tests run beside these
        return main(words)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with the quick form's report, made by the command, without a data folder."""
    return made_once(tmp_path_factory, "paper", make_report)


def make_report(place):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SKETCHLASSO_DATA", raising=False)
        assert call("--quick", "-o", str(place)) == 0


@pytest.fixture(scope="session")
def outcomes(folder):
    return {name: read_outcome(folder, name) for name in NAMES}


class Page(HTMLParser):
    """Checks that tags are closed in order, and keeps what matters."""

    VOID = ("meta", "img", "source", "br", "link")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.sources = [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.sources += [attributes[key] for key in ("src", "srcset", "href") if key in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_experiment_is_finished_and_says_what_it_found(outcomes):
    assert {
        name: one["reason"] for name, one in outcomes.items() if one["status"] != "finished"
    } == {}
    assert set(PAPER) == set(NAMES)
    for outcome in outcomes.values():
        assert findings_of(outcome) and outcome["section"]["tables"]
        for finding in findings_of(outcome):
            text = " ".join(str(value) for value in finding.values())
            assert not re.search(r"\b(nan|inf|None)\b", text), text


# What holds on small data on every machine: mathematics, not speed.
@pytest.mark.parametrize(
    ("name", "place", "verdict"),
    [
        ("figure_2", 0, "reproduced"),
        ("figure_2", 1, "reproduced"),
        ("leave_one_out", 1, "beyond the paper"),
        ("safe_rule", 0, "reproduced"),
        ("inverse_covariance", 0, "better"),
        ("subspace_clustering", 0, "reproduced"),
    ],
)
def test_claims_of_mathematics_hold_on_small_data(outcomes, name, place, verdict):
    assert findings_of(outcomes[name])[place]["verdict"] == verdict


def test_the_page_parses_fetches_nothing_and_scrolls_with_the_keyboard(folder):
    text = (folder / "paper.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.ids == ["tally", *NAMES, "machine"]
    assert all(source.startswith(("data:", "#")) for source in page.sources)
    assert sum(source.startswith("data:image/svg") for source in page.sources) >= 14
    assert "prefers-color-scheme: dark" in text
    assert text.count('tabindex="0" role="region"') == text.count("<table>")


def test_the_quick_form_judges_no_time_and_the_tally_is_in_the_report(folder, outcomes):
    timed = [
        finding["verdict"]
        for outcome in outcomes.values()
        for finding in findings_of(outcome)
        if finding["timing"]
    ]
    assert len(timed) > 8 and set(timed) == {"not judged"}
    page = (folder / "paper.html").read_text(encoding="utf-8")
    tally = re.search(r'<p id="tally">(.*?)</p>', page)[1]
    rows = json.loads((folder / "results.json").read_text(encoding="utf-8"))["summary"]
    assert sum(map(int, re.findall(r"\d+", tally))) == len(rows)


def test_what_is_finished_is_kept_and_what_fails_is_reported(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "results").mkdir()
    stored = (folder / "results" / "figure_1.json").read_text()
    (tmp_path / "results" / "figure_1.json").write_text(stored)
    monkeypatch.setattr("reproduction.experiments.table_1._facts", lambda X: 1 / 0)
    plan = Plan(quick=True)
    first, second = run_experiments(tmp_path, ["figure_1", "table_1"], plan)
    assert first == json.loads(stored)
    assert (second["status"], second["section"]) == ("failed", None)
    assert write_report(tmp_path, [first, second])["no results"] == 1
    assert "division by zero" in (tmp_path / "paper.html").read_text(encoding="utf-8")

    def stopped(plan, say):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.experiments.table_1.run", stopped)
    words = ("--quick", "-o", str(tmp_path), "--only", "figure_1,table_1", "--again", "table_1")
    assert call(*words) == 130
    assert "Run it again to go on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "figure_9"], "not an experiment; choose from figure_1, "),
        (["--budget", "0"], "must be a positive number of seconds, not 0"),
        (["--rows", "3"], "must be at least 50 rows, not 3"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, capsys, words, said):
    with pytest.raises(SystemExit) as stop:
        call("--quick", "-o", str(tmp_path / "new"), *words)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_without_a_data_folder_the_full_form_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SKETCHLASSO_DATA", raising=False)
    with pytest.raises(SystemExit):
        call("-o", str(tmp_path))
    said = capsys.readouterr().err
    assert "SKETCHLASSO_DATA is not set" in said and "--quick" in said
