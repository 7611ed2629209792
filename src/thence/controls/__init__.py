"""Controls: what makes the actuators of a plant switch, found in readings and counted both ways.

``search_controls`` explains every change of every actuator ("Pump 335 closes") by a threshold of a reading or by a time
of day. Controls are records of their own; they do not come from a miner and are not refined.
"""

from thence.controls.control import Control, Controls
from thence.controls.search import search_controls
from thence.controls.settings import ControlSettings
from thence.controls.thresholds import Tally

__all__ = ["Control", "ControlSettings", "Controls", "Tally", "search_controls"]
