"""The pages that people see in a browser: the page of `bot dev`, and the console."""
