"""What people look at: a run as a dict (``report.json``) and as one page (``report.html``)."""
