"""The console: pages that show the live bot to the people who run it (`bot serve --console`).

Each view is a file, such as `contacts`: functions that make a page, and their routes, each with the role that
it needs (`routes`). `console_app` lists the views; their templates are in ``templates/``. `login` has the sessions
of users, `masking` hides numbers and texts from viewers.
"""
