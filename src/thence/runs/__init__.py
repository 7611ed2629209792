"""Runs: configuration, inputs, the pipeline that wires all parts together, the run folder, and provenance."""
