"""The search for laws: candidates, fits and the choice of what is kept."""
