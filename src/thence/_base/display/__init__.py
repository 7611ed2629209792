"""How objects show themselves in notebooks: HTML, and charts of rules.

Pure functions from what an object offers to text or a chart. The types of this package lie above this room and call
it, so it knows them only by protocols. It must not read files, compute measures or keep state.
"""

from __future__ import annotations
