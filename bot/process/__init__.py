"""The processes of `bot serve`: a supervisor, and its two children, web and engine; and what is done while none runs."""
