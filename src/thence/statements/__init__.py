"""What can be found: rules, laws and controls, their counts, keys and files."""
