"""The engine: decides what follows from one event, as a pure function (`bot.engine.advance.advance`)."""
