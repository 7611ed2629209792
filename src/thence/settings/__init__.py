"""Settings: typed values from configuration tables, checks of single values, TOML text, and parts chosen by name."""
