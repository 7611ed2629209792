"""Packed bitmaps and the kernels that count on them: plain arrays in, integers out. Knows no tables, items or rules."""
