"""Health of sensors: when a sensor is dead, stuck, clipped, spiking, drifting, or otherwise not to be trusted."""
