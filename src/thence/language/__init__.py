"""What can be said: features, items, patterns and known rules, their text and their sentences. Reads no data."""
