"""Aerial: rule learning with an autoencoder and an exact, algebraic search.

In the order of the flow: ``settings``, ``miner`` (the miner), ``rows`` (what it is trained on), ``autoencoder`` (the
network), ``loss``, ``row_steps`` and ``training``, ``model`` (a trained model), ``antecedents``, ``consequents`` and
``extraction``; ``device_kernels`` serve training and extraction on graphics processors. ``settings``, ``miner``,
``rows`` and ``model`` do not import torch.
"""
