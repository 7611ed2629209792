"""Settings: dataclasses from configuration tables, checks of single values, TOML text, and registries of parts."""
