"""The tools of `bot mcp`, which coding assistants use."""
