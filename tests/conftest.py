"""Settings of the whole suite."""

from hypothesis import settings

settings.register_profile("suite", deadline=None)  # no test asserts a time, and kernels compile on first use
settings.load_profile("suite")
