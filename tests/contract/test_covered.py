"""A report of coverage fails where too few lines have run, and nothing else slows the tests."""

import gc
import json
import os

import pytest

covered = pytest.importorskip("tests.covered", reason="slipcover is not installed")


@pytest.mark.parametrize(("ran", "fails"), [(9, False), (8, True)])
def test_too_few_lines_are_a_failure(tmp_path, capsys, ran, fails):
    lines = {"executed_lines": list(range(ran)), "missing_lines": list(range(ran, 10))}
    counts = {
        "covered_lines": ran,
        "missing_lines": 10 - ran,
        "percent_covered": 10.0 * ran,
        "percent_covered_display": str(10 * ran),
    }
    report = {
        "meta": {"software": "slipcover", "version": "1.1.0", "branch_coverage": False},
        "files": {"a.py": lines | {"summary": counts}},
        "summary": counts,
    }
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    assert covered.main(path) is fails
    printed = capsys.readouterr().out
    assert "a.py" in printed
    assert ("90 % are required" in printed) is fails


def test_nothing_looks_at_the_tests_meanwhile():
    assert gc.get_freeze_count() > 0
    assert os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] == "False"
