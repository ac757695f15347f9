"""The bot's own Python: plain functions, called by `call` steps. Their arguments are checked by their types."""

import json
from datetime import date
from hashlib import sha256
from pathlib import Path

from bot import handler

FILE = Path(__file__).with_name("requests.jsonl")


@handler("requests.file")
def file(name: str, email: str, topic: str, day: date, note: str | None, idempotency_key: str) -> str:
    """Append a request to requests.jsonl, and return its number. Replace this by a row of your database, or an email.

    After a crash the bot repeats the call with the same key: the request has the same number then, and is filed once.
    """
    number = sha256(idempotency_key.encode()).hexdigest()[:6].upper()
    filed = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    if not any(json.loads(line)["number"] == number for line in filed):
        request = {"number": number, "name": name, "email": email, "topic": topic, "day": day.isoformat(), "note": note}
        with FILE.open("a", encoding="utf-8") as requests:
            requests.write(json.dumps(request, ensure_ascii=False) + "\n")
    return number
