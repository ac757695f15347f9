"""The console: pages of the live store, for those who run the bot (`bot serve --console`).

Each view is a file of its own, `contacts` for one: functions that make a page, and the routes that lead to them, each
with the role that it needs (`routes`). `console_app` lists the views; their templates stand in ``templates/``. `login`
has sessions, `masking` what viewers do not see.
"""
