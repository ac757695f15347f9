"""What the settings in ``bot.yml`` say: for editors. Secrets are known there, and not offered."""

from bot.keys.key_schemas import ANY_TEXT, Schemas, takes, unseen

_HIDDEN = unseen(ANY_TEXT)
SETTINGS_KEYS: Schemas = {
    "gateway_url": takes(ANY_TEXT, "The gateway's base address."),
    "gateway_key": takes(_HIDDEN, "The gateway's API key: it belongs into .env."),
    "webhook_secret": takes(_HIDDEN, "What the gateway signs events with: it belongs into .env."),
    "public_url": takes(ANY_TEXT, "The bot's public base address: what bot doctor looks at."),
    "channel_id": takes(ANY_TEXT, "The channel to send by, where the account has several."),
    "gateway_per_minute": takes(ANY_TEXT, "How many requests a minute the account may make; 60 where nothing is said."),
    "gateway_per_day": takes(ANY_TEXT, "How many requests a day the account may make; 10000 where nothing is said."),
    "gateway_per_contact": takes(
        ANY_TEXT, "How many of a day's requests one contact may get; 2 % where nothing is said, but at least 40."
    ),
    "ai_url": takes(ANY_TEXT, "The chat-completion service's base address."),
    "ai_key": takes(_HIDDEN, "The chat-completion service's API key: it belongs into .env."),
    "ai_model": takes(ANY_TEXT, "The model that is asked; of several with commas, the others are fallen back to."),
    "ai_key_in": takes(
        ANY_TEXT, "Where the key goes: authorization, x-api-key or query; the first where nothing is said."
    ),
    "log": takes(ANY_TEXT, "What bot serve logs beside trouble: turns, a line for each; else nothing."),
    "log_format": takes(ANY_TEXT, "How bot serve writes its log: text or json; text where nothing is said."),
    "store": takes(ANY_TEXT, "The store's file; bot.db beside bot.yml where nothing is said."),
    "host": takes(ANY_TEXT, "The address that bot serve listens at; 127.0.0.1 where nothing is said."),
    "port": takes(ANY_TEXT, "The port that bot serve listens at; 8000 where nothing is said."),
    "webhook_path": takes(ANY_TEXT, "A further path of the webhook; /webhook where nothing is said."),
    "webhook_tolerance": takes(
        ANY_TEXT, "How many seconds an event's timestamp may be off; 300 where nothing is said."
    ),
    "api_key": takes(_HIDDEN, "What programs must know that start flows: it belongs into .env."),
    "repeat_unknown": takes(
        ANY_TEXT, "Whether a reply is repeated of which nobody knows if it was sent; no where nothing is said."
    ),
}
