"""Detection: leaks, faults and attacks as violations of what holds in normal time, with places and reasons."""
