"""The rule explorer: a local server with the pages and the data of runs."""
