"""What variables are at each step: null or not, whichever way a conversation has come there, and which values."""
