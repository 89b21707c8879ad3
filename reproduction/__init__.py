"""The paper, reproduced: every table and figure on the available data, as a report.

An experiment computes rows into a results file; its tables, pictures and sentences are made from
that file alone, so a report can be rebuilt, and every number in it traced.
"""
