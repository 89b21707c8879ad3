"""Print which lines the tests have not run, and fail where they are too many.

`python -m tests.covered .coverage.json` reads what `python -m slipcover` wrote. With its own limit
on the share of lines, slipcover leaves the parallel workers out of the report that it prints.
"""

import json
import sys
from pathlib import Path

from slipcover import print_coverage

# Per cent of the lines that must have run.
REQUIRED = 90


def main(path):
    """Print a report and return whether fewer lines have run than required."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    print_coverage(found, outfile=sys.stdout, skip_covered=True)
    share = found["summary"]["percent_covered"]
    if share < REQUIRED:
        print(f"The tests run {share:.1f} % of the lines; {REQUIRED} % are required.")
    return share < REQUIRED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
