"""Integrity: checksums of everything that Thence writes and reads again, and the check of folders and files."""
