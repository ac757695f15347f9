"""What holds for all tests."""

import os

from hypothesis import settings

# a busy machine is no failure, and a change is not to blame for what chance finds on the day that it lands:
# HYPOTHESIS=random goes looking
settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "same"))
