"""The papers' experiments, small enough for two cores: each trains its arms, measures them, and says what came out.

An experiment (`experiment.py`) names its arms, ordinary recipes with a few settings replaced, and how they are
measured; `frame.py` trains them, goes on where it was stopped, and writes a table, a figure and a result. `results/`
holds those of the full runs.
"""
