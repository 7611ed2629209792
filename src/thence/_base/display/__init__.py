"""How objects show themselves in notebooks: HTML, and charts of rules.

Pure functions from what an object offers to text or a chart. Rules and runs lie above this room and call it. It must
not read files, compute measures or keep state.
"""
