"""Compiled loops, one file a theme: functions on arrays, no classes, no input or output.

A kernel's helpers live in its own file, because numba's cache does not see an edit in another. Random numbers come in
as arrays, or as counter-based generator state that is passed in. Each kernel has a slow twin in `tests/naive.py`.
"""
