"""Sensor readings: the data type, cleaning, scanning, windows, and the readers of files and frames."""
