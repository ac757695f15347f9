"""The checks of `bot doctor`. They send nothing to a contact."""
