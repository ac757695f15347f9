"""The engine: one event's way through a session, as a pure function (`bot.engine.advance.advance`)."""
