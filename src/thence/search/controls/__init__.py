"""The search for controls: what makes the actuators of a plant switch."""
