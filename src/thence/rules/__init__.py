"""Rules: items and their text, English sentences, measures, constraints, rule sets. Nothing here reads data."""
