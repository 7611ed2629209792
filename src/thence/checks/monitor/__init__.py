"""Rules of a run on live data: incremental windows, exact counts, sequential tests, alerts, and state that survives."""
