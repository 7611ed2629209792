"""Controls: what makes the actuators of a plant switch, counted both ways."""
