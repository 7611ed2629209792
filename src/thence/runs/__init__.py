"""Runs: configuration, inputs, plans, tables, the pipeline, the run folder, provenance. This room wires the parts."""
