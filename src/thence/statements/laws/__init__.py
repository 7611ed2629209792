"""Laws: what the quantities of a plant always obey, found from readings and the graph without a list of laws."""
