from hypothesis import settings

# The same examples at each run, and no failure because a busy machine was slow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
