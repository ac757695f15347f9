"""Values that all other parts use: events, effects, sessions, messages.

Only `alarms`, `clock`, `defects` and `telemetry` read a clock or write a log; nothing else here does I/O.
"""
