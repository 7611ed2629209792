"""The exact miner: every rule that meets the thresholds."""
