"""The statements of a run as one thing: findings, their search, their schema, and the data to check them on."""
