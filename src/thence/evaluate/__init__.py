"""Questions asked of miners and rules: comparison, fidelity, generalisation, and conformance checks."""
