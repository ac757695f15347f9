"""What runs: the turns, the delivery of messages, and the performers of calls, each on threads of its own."""
