"""The chat-completion API's client, written from its specification."""
