"""Packed bitmaps and the kernels that count on them.

Everything here takes plain arrays and returns integers or bitmaps. Tables, items and rules as objects belong to the
layers above, and so do measures.
"""
