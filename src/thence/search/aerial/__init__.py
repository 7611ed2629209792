"""Aerial: rule learning with an autoencoder and an exact, algebraic search.

``miner`` is the miner, ``model`` its trained model, ``settings`` its settings; they do not import torch. Training
(``training``, ``rows``, ``corruption``, ``loss``, ``adam``; on graphics processors ``wide_steps``, ``wide_loss``) and
extraction (``extraction``, ``antecedents``, ``mutual_gate``, ``combinations``, ``consequents``, ``query_network``,
``sketch``, ``likely_classes``, ``first_look``) work on plain arrays and on the network (``autoencoder``, ``storage``).
"""
