"""What edited flows change in recorded conversations and in those that are open."""
