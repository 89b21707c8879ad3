"""The quick form from end to end, its report, and the sentences of either verdict."""

import copy
import json
import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reproduction.__main__ import main
from reproduction.experiment import Plan
from reproduction.experiments import EXPERIMENTS
from reproduction.paper_figures import PAPER
from reproduction.report import findings_of, write_report
from reproduction.runner import read_outcome, run_experiments
from tests.shared import made_once
from threadpoolctl import threadpool_limits

from reproduction import runner

pytest.importorskip("matplotlib")
pytest.importorskip("clarabel")
NAMES = [experiment.name for experiment in EXPERIMENTS]
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
TOKEN = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?= (%|ms)\b| (%)|)")


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
        self.open, self.ids, self.sources, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.sources += [given[key] for key in ("src", "srcset", "href") if key in given]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_every_experiment_is_finished(outcomes):
    assert list(outcomes) == NAMES
    assert {name: one.reason for name, one in outcomes.items() if one.status != "finished"} == {}
    assert set(PAPER) == set(NAMES)


def test_the_page_parses_and_fetches_nothing(folder):
    page = Page()
    page.feed((folder / "paper.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert page.ids == ["tally", *NAMES, "machine"]
    assert all(source.startswith(("data:", "#")) for source in page.sources)
    assert sum(source.startswith("data:image/svg") for source in page.sources) >= 14
    assert "prefers-color-scheme: dark" in (folder / "paper.html").read_text(encoding="utf-8")


def test_a_second_run_computes_nothing(folder, outcomes, monkeypatch):
    monkeypatch.setattr("reproduction.runner._run", lambda *_: pytest.fail("computed again"))
    again = run_experiments(folder, EXPERIMENTS, Plan(quick=True))
    assert again == list(outcomes.values())


def test_the_summary_is_rebuilt_from_the_results_files(folder, tmp_path):
    before = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    write_report(folder, EXPERIMENTS)
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == before
    # Another number in a results file is another number in the summary.
    changed = tmp_path / "results" / "leave_one_out.json"
    changed.parent.mkdir()
    stored = json.loads((folder / "results" / "leave_one_out.json").read_text())
    stored["results"]["loo_seconds"] = 98765.0
    changed.write_text(json.dumps(stored))
    write_report(tmp_path, EXPERIMENTS)
    assert "98,800 s" in (tmp_path / "paper.html").read_text(encoding="utf-8")


def test_the_quick_form_judges_no_time_and_the_tally_is_in_the_report(folder, outcomes):
    timed = [
        finding.verdict
        for name in ("figure_3", "figure_4", "iteration_cost", "table_2")
        for finding in findings_of(BY_NAME[name], outcomes[name])[0]
        if finding.timing
    ]
    assert timed and set(timed) == {"not judged"}
    page = (folder / "paper.html").read_text(encoding="utf-8")
    tally = re.search(r'<p id="tally">(.*?)</p>', page)[1]
    rows = json.loads((folder / "results.json").read_text(encoding="utf-8"))["summary"]
    assert sum(map(int, re.findall(r"\d+", tally))) == len(rows)
    assert page.count('tabindex="0" role="region"') == page.count("<table>")


def numbers_in(value):
    """Every number of a results file, those in its words and the lengths of its lists included."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield abs(float(value))
    elif isinstance(value, str):
        for found in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", value):
            yield float(found.replace(",", ""))
    elif isinstance(value, dict):
        yield float(len(value))
        for key, part in value.items():
            yield from numbers_in(key)
            yield from numbers_in(part)
    else:
        yield float(len(value))
        for part in value:
            yield from numbers_in(part)


def is_rounded(token, unit, known):
    shown = Decimal(token.replace(",", "").lstrip("-"))
    scale = {"%": 100.0, "ms": 1000.0}.get(unit, 1.0)
    last = 10.0 ** shown.normalize().as_tuple().exponent if shown else 1e-12
    # Noughts at the end of a whole number may mean something or not.
    allowed = 0.5001 * (last if "e" in token or "." in token else min(last, 0.1 * float(shown)))
    allowed = max(allowed, 1e-12)
    return any(abs(scale * value - float(shown)) <= allowed for value in known)


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_the_summary_is_typed_in(outcomes, name):
    outcome = outcomes[name]
    known = set(numbers_in([outcome.settings, outcome.paper, outcome.results]))
    for finding in findings_of(BY_NAME[name], outcome)[0]:
        for text in (finding.claim, finding.paper, finding.ours, finding.why):
            for found in TOKEN.finditer(text):
                unit = found[1] or found[2]
                assert is_rounded(found[0], unit, known), (found[0], text)


def changed(outcomes, name, **values):
    """Findings of an experiment with some results replaced; 'a__b' is the entry b of a."""
    stored = copy.deepcopy(outcomes[name].stored())
    for path, value in values.items():
        place = stored["results"]
        *inner, last = path.split("__")
        for key in inner:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[last] = value
    return BY_NAME[name].findings(stored)


CASES = [
    ("figure_1", 0, {"well_approximated": 1}, "reproduced"),
    ("figure_1", 0, {"well_approximated": 0}, "not reproduced"),
    ("figure_2", 0, {"bound_held": True, "largest_rise": 1e-12}, "reproduced"),
    ("figure_2", 0, {"bound_held": False}, "not reproduced"),
    ("figure_2", 0, {"largest_rise": 0.1}, "not reproduced"),
    ("figure_2", 1, {"control": True}, "reproduced"),
    ("figure_2", 1, {"control": False}, "not reproduced"),
    ("table_1", 0, {"same_features": 4}, "reproduced"),
    ("table_1", 0, {"same_features": 2}, "not reproduced"),
    ("figure_3", 0, {"laws__conic__exponent": -1.1}, "reproduced"),
    ("figure_3", 0, {"laws__conic__exponent": -1.9}, "better"),
    ("figure_3", 2, {"laws__newton__exponent": -0.2}, "not reproduced"),
    ("figure_4", 0, {"slowest": 39.0}, "better"),
    ("figure_4", 0, {"slowest": 41.0}, "not reproduced"),
    ("figure_4", 1, {"last_f1": 0.5}, "beyond the paper"),
    ("table_2", 0, {"rows__0__factor_plain": 20000.0}, "better"),
    ("table_2", 0, {"rows__0__factor_plain": 500.0}, "not reproduced"),
    ("table_2", 0, {"rows__0__factor_plain": None}, "not reproduced"),
    ("table_2", 1, {"rows__0__factor_plain": 20000.0}, "better"),
    ("table_2", 1, {"rows__0__factor_plain": 9000.0}, "not reproduced"),
    ("leave_one_out", 0, {"loo_seconds": 7000.0}, "better"),
    ("leave_one_out", 0, {"loo_seconds": 8000.0}, "not reproduced"),
    ("leave_one_out", 1, {"difference_over_effect": 0.01}, "beyond the paper"),
    ("leave_one_out", 1, {"difference_over_effect": 0.9}, "not reproduced"),
    ("figures_5_6", 0, {"sets__0__difference__paper": 0.0}, "reproduced"),
    ("figures_5_6", 0, {"sets__0__difference__paper": -0.1}, "not reproduced"),
    ("figures_5_6", 1, {"sets__0__difference__ours": 0.1}, "better"),
    ("figures_5_6", 2, {"sets__0__last__ours__seconds": 1e4}, "not reproduced"),
    ("tables_3_4", 0, {"corpora__0__median_query": 0.01}, "better"),
    ("tables_3_4", 0, {"corpora__0__median_query": 10.0}, "not reproduced"),
    ("tables_3_4", 1, {"corpora__0__coherence": 0.9}, "better"),
    ("tables_3_4", 1, {"corpora__0__coherence": -0.9}, "not reproduced"),
    ("iteration_cost", 0, {"barrier_n": 1.0}, "better"),
    ("iteration_cost", 0, {"barrier_n": 2.5}, "reproduced"),
    ("iteration_cost", 1, {"barrier_k": 3.0}, "not reproduced"),
    ("iteration_cost", 2, {"barrier_m": 0.05}, "reproduced"),
    ("iteration_cost", 2, {"barrier_m": 0.9}, "not reproduced"),
    ("safe_rule", 0, {"wrong": 0}, "reproduced"),
    ("safe_rule", 0, {"wrong": 3}, "not reproduced"),
    ("inverse_covariance", 0, {"ours_f1": 0.99, "graphical_lasso_f1": 0.5}, "better"),
    ("inverse_covariance", 0, {"ours_f1": 0.5, "graphical_lasso_f1": 0.51}, "reproduced"),
    ("inverse_covariance", 0, {"ours_f1": 0.5, "graphical_lasso_f1": 0.99}, "not reproduced"),
    ("inverse_covariance", 1, {"least_common": 0.9}, "reproduced"),
    ("inverse_covariance", 1, {"least_common": 0.1}, "not reproduced"),
    ("subspace_clustering", 0, {"methods__ours__accuracy": 0.99}, "reproduced"),
    ("subspace_clustering", 0, {"methods__ours__accuracy": 0.05}, "not reproduced"),
]


@pytest.mark.parametrize(("name", "place", "values", "verdict"), CASES)
def test_verdicts_follow_the_results(outcomes, name, place, values, verdict):
    finding = changed(outcomes, name, **values)[place]
    assert finding.verdict == verdict
    assert finding.why and finding.ours and finding.paper


def test_extrapolations_and_bounds_are_marked(outcomes):
    finding = changed(outcomes, "table_2", rows__0__full__at_least=True)[0]
    assert finding.ours.startswith(">= ") and "extrapolated" in finding.ours
    assert "lower bound" in finding.why
    bounded = copy.deepcopy(outcomes["table_2"].stored())
    bounded["results"]["rows"][0]["full"]["at_least"] = True
    sheet = BY_NAME["table_2"].tables(bounded)[0]
    assert sheet.rows[0][4].startswith(">= ")
    measured = BY_NAME["table_2"].tables(outcomes["table_2"].stored())[0]
    assert measured.rows[0][4].startswith("~ ")


def test_a_results_file_of_another_plan_is_not_used(folder, outcomes, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    stored = (folder / "results" / "figure_1.json").read_text()
    (results / "figure_1.json").write_text(stored.replace('"values": 20', '"values": 19', 1))
    [outcome] = run_experiments(tmp_path, [BY_NAME["figure_1"]], Plan(quick=True))
    assert outcome.settings["values"] == 20
    assert replace(outcome, seconds=0, started="", machine={}).results["sets"] == 1


def test_an_interruption_leaves_a_report_of_what_is_finished(tmp_path, monkeypatch, capsys):
    run = runner._run

    def interrupted(experiment, *rest):
        if experiment.name == "table_1":
            raise KeyboardInterrupt
        return run(experiment, *rest)

    monkeypatch.setattr(runner, "_run", interrupted)
    assert call("--quick", "-o", str(tmp_path), "--only", "figure_1,table_1") == 130
    page = (tmp_path / "paper.html").read_text(encoding="utf-8")
    assert 'id="figure_1"' in page and 'id="table_1"' not in page
    assert "Run it again to go on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "figure_9"], "not an experiment; choose from figure_1, "),
        (["--again", "figure_1,nonsense"], "'nonsense' is not an experiment"),
        (["--budget", "0"], "positive number of seconds"),
        (["--rows", "3"], "at least 50 rows"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, capsys, words, said):
    with pytest.raises(SystemExit) as stop:
        call("--quick", "-o", str(tmp_path / "new"), *words)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err
    assert not Path(tmp_path / "new").exists()


def test_without_a_data_folder_the_full_form_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SKETCHLASSO_DATA", raising=False)
    with pytest.raises(SystemExit):
        call("-o", str(tmp_path))
    said = capsys.readouterr().err
    assert "SKETCHLASSO_DATA is not set" in said and "--quick" in said
