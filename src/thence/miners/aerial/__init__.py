"""Aerial: neural rule learning with an autoencoder and an exact, algebraic search."""
