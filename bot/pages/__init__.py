"""The pages in a browser: that of `bot dev`, and the console."""
