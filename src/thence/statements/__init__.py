"""The statements of a run as one thing: findings, their search and their schema."""
