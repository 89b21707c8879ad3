"""The cost model of data in blocks: its algebra, and its passes against the library's meter."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.scale import far_jobs
from benchmarks.scale.data import generate
from benchmarks.scale.limits import CLIENT_MEMORY, WORKER_MEMORY, limits
from benchmarks.scale.model import client_bytes, stages, worker_bytes
from benchmarks.scale.page import paste
from benchmarks.scale.runs import Measured, run_job
from benchmarks.scale.sizes import Cluster, Constants, Job

import sketchlasso as sl

PAGE = Path(__file__).parents[2] / "docs" / "billion.md"
ONES = Constants(**{field.name: 1.0 for field in fields(Constants)})
JOB = Job(rows=80_000, features=5_000, row_nonzeros=30.0, rows_per_block=1_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("scale") / "data", 900, 300, 8, 200, 0)


def job_of(folder):
    return Job(*folder.shape, folder.row_nonzeros, 200, rank=8, penalties=6)


def test_passes_and_products_are_those_of_the_meter(folder):
    found, X = stages(job_of(folder)), folder.matrix()
    alone = sl.sketch(X, rank=8, radius=0.0, random_state=0)
    assert len(found["sketch"].passes) == alone.cost.passes
    bounded = sl.sketch(folder.matrix(), rank=8, radius="spectral", random_state=0)
    both = [part for name in ("sketch", "radius bound") for part in found[name].passes]
    assert len(both) == bounded.cost.passes
    products = sum(part.counts.get("product", 0.0) for part in both) / folder.nonzeros
    assert products == pytest.approx(bounded.cost.products)


def test_a_run_walks_as_often_as_the_model_says(folder):
    run = run_job(folder, 8, 5, 6, 0, 1)
    model = {name: len(stage.passes) for name, stage in stages(job_of(folder)).items()}
    assert run.passes == {name: count for name, count in model.items() if name != "solve"}
    assert run.solved
    assert all(seconds > 0 for seconds in run.seconds.values())


def test_shards_are_as_large_as_the_model_says(folder):
    stored = sum(
        part.nbytes
        for shard in folder.shards
        for part in (shard.load().data, shard.load().indices, shard.load().indptr)
    )
    # A shard has one more pointer than rows.
    assert job_of(folder).bytes == stored - 4 * len(folder.shards)


@pytest.mark.parametrize("name", ["sketch", "radius bound", "fold statistics", "scores"])
def test_twice_the_rows_are_twice_the_bytes_and_products(name):
    once, twice = JOB, replace(JOB, rows=2 * JOB.rows)
    one, two = stages(once)[name], stages(twice)[name]
    assert two.read(twice) == pytest.approx(2 * one.read(once))
    for a, b in zip(one.passes, two.passes, strict=True):
        assert b.flops == pytest.approx(2 * a.flops)
        # What is shared and what comes back is no longer for more rows.
        assert (a.shared, a.result) == (b.shared, b.result)


def test_larger_blocks_move_less_and_take_more_memory():
    large = replace(JOB, rows_per_block=40_000)
    workers, sketch = Cluster(10), stages(JOB)["sketch"]
    assert stages(large)["sketch"].network(large, workers) < sketch.network(JOB, workers)
    assert worker_bytes(large, ONES) > worker_bytes(JOB, ONES)


def test_this_process_alone_moves_nothing_and_pays_no_task():
    free = replace(ONES, task=0.0, call=0.0, send=0.0, fetch=0.0, move=0.0)
    for stage in stages(JOB).values():
        assert stage.network(JOB, Cluster(0)) == 0
        assert stage.seconds(JOB, Cluster(0), ONES) == stage.seconds(JOB, Cluster(0), free)


def test_work_on_blocks_is_shared_in_whole_blocks():
    only_reading = replace(
        Constants(**{field.name: 0.0 for field in fields(Constants)}), open=1.0, crowd=1.0
    )
    sketch = stages(JOB)["sketch"]
    seconds = [sketch.seconds(JOB, Cluster(count), only_reading) for count in (1, 8, 60, 80, 200)]
    # 80 blocks: ten each, two for some of sixty, one each, and workers without any.
    assert np.divide(seconds[0], seconds) == pytest.approx([1, 8, 40, 80, 80])


def test_instances_of_their_own_are_solved_and_nothing_else_changes():
    every = replace(JOB, instances=JOB.features)
    one, other = stages(JOB), stages(every)
    assert other["solve"].problem_features == JOB.features**2
    assert one["solve"].problem_features == 250 * JOB.features
    assert [one[name] for name in one if name != "solve"] == [
        other[name] for name in other if name != "solve"
    ]


def far_run(collects: bool) -> Measured:
    return Measured({}, {}, {}, 13, 0.0, 0.0, collects, 200.0, True, [])


@pytest.mark.parametrize("collects", [True, False])
def test_limits_are_where_the_memory_is_full(collects):
    job, every = far_jobs(far_run(collects))
    small = replace(ONES, client_bytes=3e8, worker_bytes=3e8)
    found = limits(job, every, 1000, small)
    assert [limit.strain for limit in found] == sorted(
        (limit.strain for limit in found), reverse=True
    )
    at = {limit.what: limit.breaks_at for limit in found}
    widest = replace(job, rows=0, features=round(at["the Krylov basis"]))
    assert client_bytes(widest, Cluster(1), small) == pytest.approx(CLIENT_MEMORY, rel=1e-3)
    widest = replace(job, features=round(at["V and sums of n x k in every worker"]))
    assert worker_bytes(widest, small) == pytest.approx(WORKER_MEMORY, rel=1e-3)
    longest = replace(job, features=0, collects=False, rows=round(at["responses and folds"]))
    free = replace(small, client_bytes=0.0)
    assert client_bytes(longest, Cluster(1), free) == pytest.approx(CLIENT_MEMORY, rel=1e-3)


def test_a_page_without_a_place_for_a_table_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: check -->\n\nold\n\n<!-- /measured -->\n")
    paste({"check": "| new |"}, page)
    assert page.read_text() == "<!-- measured: check -->\n\n| new |\n\n<!-- /measured -->\n"
    with pytest.raises(ValueError, match="0 places for the table memory"):
        paste({"memory": "| new |"}, page)


def test_a_quick_run_writes_the_tables_of_the_page(tmp_path):
    pytest.importorskip("distributed")
    page = tmp_path / "billion.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["scale", "--quick", "--results", str(tmp_path), "--page", str(page)]) == 0
    found = json.loads((tmp_path / "scale-quick.json").read_text())
    assert found["complete"]
    walked = [row for row in found["rows"] if row["stage"] != "whole"]
    assert len(walked) == 2 * 5
    assert all(row["passes"] == row["counted"] for row in walked)
    assert all(row["all solved"] for row in found["rows"] if row["stage"] == "whole")
    written = page.read_text(encoding="utf-8")
    tables = (tmp_path / "scale-page-quick.md").read_text(encoding="utf-8")
    for table in tables.split("<!-- /measured -->"):
        assert table.strip() in written
