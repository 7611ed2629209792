"""What people see of a run: reports, the explorer and exports."""
