"""The effect of edited flows on recorded conversations and on open ones."""
