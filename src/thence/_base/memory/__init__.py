"""Memory: how much there is, how much a run may use, and arrays that move to temporary files beyond that."""
