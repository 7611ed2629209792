"""What reproduces the paper and measures this package: data sets, baselines, experiments, comparisons and scores."""
