"""Readings: sensor data, findings, cleaning, scanning, windows, and the readers of files and frames."""
