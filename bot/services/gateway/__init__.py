"""The messaging gateway, as its specification has it: sending, and the webhook's events."""
