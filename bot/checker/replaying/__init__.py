"""What edited flows do to recorded conversations and to those under way."""
