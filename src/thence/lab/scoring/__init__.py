"""Scores of detectors, as the field defines them: leaks, attacks, faults; pure functions over arrays.

Labels and alarms are arrays of 0 and 1 (or booleans), one value per step; a step is a sampling interval.

Examples:
    >>> from thence import scoring
    >>> label = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
    >>> alarm = [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    >>> scoring.f1_score(label, alarm).f1
    0.75
    >>> scoring.detection_score(label, alarm).score.__round__(3)
    0.771
"""

from thence.lab.scoring.attacks import DetectionScore, detection_score
from thence.lab.scoring.faults import FaultDetection, detection_by_fault
from thence.lab.scoring.leak_reports import BattLeDIMScore, LeakFlow, battledim, pipe_distances
from thence.lab.scoring.leak_scenarios import LeakDBScore, leakdb
from thence.lab.scoring.points import PointScore, f1_score
from thence.lab.scoring.ranges import RangeScore, range_f1_score

__all__ = [
    "BattLeDIMScore",
    "DetectionScore",
    "FaultDetection",
    "LeakDBScore",
    "LeakFlow",
    "PointScore",
    "RangeScore",
    "battledim",
    "detection_by_fault",
    "detection_score",
    "f1_score",
    "leakdb",
    "pipe_distances",
    "range_f1_score",
]
