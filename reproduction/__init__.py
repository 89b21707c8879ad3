"""The paper, reproduced: every table and figure on the available data, as a report."""
