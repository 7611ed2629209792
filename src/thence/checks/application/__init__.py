"""Rules of a run on other data: which hold, which are violated, where and when, and which cannot be applied."""
