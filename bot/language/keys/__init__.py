"""The keys of the maps in a bot's files: read with their types, and described to editors."""
