"""The bot that the simulation runs: a few flows with every kind of step that does something outside of a turn, in three
versions between which it is reloaded.

Whatever it asks for a contact repeats the contact's own words, which are different in each message: so a message that is
sent twice shows.
"""

from functools import cache
from typing import Any

from bot import handler
from bot.core.values import Media
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import extensions_in
from bot.loading.program import Program

CONTACTS = tuple(f"62812345678{number:02d}" for number in range(6))
WORDS = ("buy", "offer", "work", "look", "talk", "later", "inner", "daily", "stop",
         "notes", "pay", "invite", "visit", "patient", "sum", "many", "vote", "album", "line", "quit", "begin")  # fmt: skip
"""What starts a flow, or is understood everywhere."""

FLOWS_OF_PROGRAMS = ("told", "offer", "work")

_BOT = """
name: Simulated
timezone: Europe/Berlin
words: {stop: {say: "Bye, {{ contact.id }}.", then: end}}
http: {crm: {base: "https://crm.example"}}
signals: {paid: {by: {type: text, value: somebody}}, seen: {}, moved: {}, early: {keep: 1d, by: {type: text, value: somebody}}, found: {by: {type: text, value: somebody}}}
opt_out: {words: [quit], say: "You hear no more, {{ contact.id }}.", back: [begin]}
transcribe: {call: speech, daily: 3}
secrets: [CRM_SECRET]
events_to: {url: "http://crm.simulated/events", secret: CRM_SECRET, on: [result, tags, handoff, end, error], allow_private: true}
defaults:
  retry: {max: 2, else: end}
  timeout: {after: 2h, then: end}
  errors: {else: /sorry}
  window_closed: {template: {name: come_back, language: en}}
"""

_FLOWS = """
flow: main
start: {otherwise: true}
vars: {said: {type: text, value: nothing}}
steps:
  hello: {say: Hello.}
  ask: {ask: "What next?", save: said, remind: {after: 30m, say: "Still there after {{ said }}?"}}
  echo: {say: "You said {{ said }}.", link: {title: More, url: "https://simulated.example"}, then: ask, visits: {max: 8, else: end}}
---
flow: buy
start: {words: [buy]ABOUT}
vars: {what: {type: text}, size: {type: text}}
steps:
  what: {ask: What shall it be?, save: what}
  size: {ask: "Which size of {{ what }}?", buttons: {Small: sure, Large: RENAMED}, save: size, accepts: text}
  RENAMED: {say: "We have few of {{ what }}."RENAMED_FROM}
  sure: {ask: "Buy {{ what }}?", options: [Yes, No, Maybe, Never], timeout: {after: 1h, say: "No {{ what }} then.", then: end}}
  done: {say: "Done with {{ what }}.", tag: buyer, then: end}
---
flow: offer
start: {words: [offer]}
vars: {code: {type: text, value: none}}
steps:
  t: {template: {name: offer, language: en, body: ["{{ code }}"]}, errors: {else: no}}
  yes: {ask: "Do you like {{ code }}?", save: code, then: end}
  no: {say: "There is no offer.", then: end}
---
flow: work
start: {words: [work]}
vars: {what: {type: text}, result: {type: text}}
steps:
  what: {ask: What is to be done?, save: what}
  call: {call: work, with: {what: "{{ what }}"}, save: result, within: 20s, errors: {Busy: busy, else: /sorry}}
  done: {say: "Worked: {{ result }}.", then: end}
  busy: {say: "Too busy for {{ what }}.", then: end}
---
flow: look
start: {words: [look]}
vars: {what: {type: text}, found: {type: object}}
steps:
  what: {ask: Look for what?, save: what}
  get: {http: "GET crm:/things/{{ what }}", save: found, errors: {404: none, else: /sorry}}
  post: {http: "POST crm:/orders", json: {what: "{{ what }}"}, errors: {else: /sorry}}
  found: {say: "Ordered {{ what }}.", then: end}
  none: {say: "No {{ what }} here.", then: end}
---
flow: talk
start: {words: [talk]}
steps:
  ai:
    ai: You are a shop. Answer briefly.
    exits: {done: {when: they have what they need, then: end}}
    turns: {max: 3, else: end}
    errors: {else: /sorry}
---
flow: later
start: {words: [later]}
interrupted: wait
vars: {what: {type: text}}
steps:
  what: {ask: Remind you of what?, save: what}
  plan:
    say: "I will remind you of {{ what }}."
    schedule: {flow: told, after: 1h, with: {what: "{{ what }}"}, busy: after}
  wait: {wait: 10m}
  waited: {say: "Ten minutes since {{ what }}.", then: end}
---
flow: told
vars: {what: {type: text, value: nothing}}
steps: {t: {say: "You were to be told {{ what }}.", then: end}}
---
flow: inner
start: {words: [inner]}
vars: {what: {type: text}, answer: {type: text}}
steps:
  what: {ask: What is it about?, save: what}
  deep: {run: deeper, with: {of: "{{ what }}"}, save: {answer: answer}, expired: late}
  over: {say: "Back with {{ answer }}.", then: end}
  late: {say: "Too late for {{ what }}.", then: end}
---
flow: deeper
vars: {of: {type: text}, answer: {type: text}}
steps: {a: {ask: "What of {{ of }}?", save: answer, then: end}}
---
flow: daily
start: {words: [daily]}
steps:
  on: {say: Every morning., schedule: {flow: told, every: day at 9:00, until: "2030-05-08", name: daily, busy: skip}, then: end}
---
flow: notes
start: {words: [notes]}
interrupted: resume
vars: {said: {type: text}}
steps:
  ask: {ask: "Tell me all, {{ contact.id }}.", save: said, gather: 5s, timeout: {after: 1h, then: end}}
  echo: {say: "You told me: {{ said }}.", then: end}
---
flow: pay
start: {words: [pay]}
vars: {what: {type: text}, by: {type: text, value: nobody}}
steps:
  what: {ask: Pay for what?, save: what}
  new: {http: "POST crm:/payments", json: {callback: '{{ signal_url("paid") }}'}, errors: {else: next}}
  wait:
    ask: "Please pay for {{ what }}."
    buttons: {Later: end}
    signals:
      paid: {set: {by: "{{ event.by }}"}, then: thanks}
      early: {set: {by: "{{ event.by }}"}, then: thanks}
      seen: {say: "Somebody has seen {{ what }}."}
  thanks: {say: "{{ by }} has paid for {{ what }}.", then: end}
---
flow: invite
start: {words: [invite]}
vars: {what: {type: text}, others: {type: list, value: ["6281234567801", "6281234567802"]}}
steps:
  what: {ask: Invite them to what?, save: what}
  ask: {start: /asked, each: others, contact: "{{ it }}", with: {what: "{{ what }}", by: "{{ contact.id }}"}, busy: after}
  all: {wait: 1h, signals: {paid: {say: "{{ event.by }} comes to {{ what }}."}}}
  over: {say: "No more come to {{ what }}.", then: end}
---
flow: asked
vars: {what: {type: text, value: nothing}, by: {type: text, value: "6281234567800"}}
steps:
  t: {template: {name: asked, language: en, body: ["{{ what }}"]}, replies: {Gladly: gladly, Sorry: end}, valid: 1d}
  gladly: {signal: paid, contact: "{{ by }}", with: {by: "{{ contact.id }}"}, then: end}
---
flow: visit
start: {words: [visit]}
interrupted: resume
vars: {what: {type: text}}
steps:
  what: {ask: Visit whom?, save: what}
  remind: {template: {name: visit, language: en, body: ["{{ what }}"]}, replies: {Confirm: yes, Cancel: end}, valid: 3d, timeout: {after: 10m, then: end}}
  yes: {say: "You visit {{ what }}.", then: end}
---
flow: patient
start: {words: [patient]}
vars: {what: {type: text}}
steps:
  what: {ask: Hear of what tomorrow?, save: what}
  day: {wait: 26h}
  news:
    say: "The news of {{ what }}."
    window_closed: {template: {name: news_of, language: en, body: ["{{ what }}"]}, wait: true}
    timeout: {after: 1d, then: end}
  more: {ask: "More of {{ what }}?", timeout: {after: 30m, then: end}}
---
flow: sum
start: {words: [sum]}
vars: {what: {type: text}, sum: {type: text, max: 200}}
steps:
  what: {ask: Sum up what?, save: what}
  kind: {classify: Is it good?, text: "{{ what }}", exits: {good: next, bad: sorry}, other: next, errors: {else: next}}
  write: {write: Sum it up., text: "{{ what }}", save: sum, errors: {else: sorry}}
  said: {say: "In short: {{ sum }}", then: end}
  sorry: {say: "No sum of {{ what }}.", then: end}
---
flow: many
start: {words: [many], pattern: "many .*"}
slots: {fill: [number, size], model: true}
vars: {number: {type: integer}, size: {type: text}}
steps:
  number: {ask: How many?, save: number, retry: {say: "A number, please.", max: 1, else: end}}
  size: {ask: "Which size for {{ number }}?", buttons: [Small, Large], save: size, retry: {max: 1, else: end}}
  done: {say: "{{ number }} in {{ size }}.", then: end}
---
flow: found
start: {signal: found, busy: after}
vars: {by: {type: text, value: somebody}}
steps: {f: {say: "{{ by }} has found something of {{ contact.id }}.", then: end}}
---
flow: vote
start: {words: [vote]}
vars: {what: {type: text}}
steps:
  what: {ask: Vote on what?, save: what}
  open: {say: "Vote on {{ what }}.", buttons: {For it: {payload: "VOTE:{{ what }}"}}}
  soon: {say: "Or soon.", buttons: {Against it: {payload: "VOTE:no {{ what }}", then: against}}, valid: 10m, then: end}
  against: {say: "Against {{ what }}.", then: end}
---
flow: voted
start: {payload: "VOTE:{what}"}
interrupted: resume
vars: {what: {type: text}}
steps: {sure: {ask: "Late for {{ what }}?", buttons: {Sure: end, Never: end}, timeout: {after: 10m, then: end}}}
---
flow: album
start: {words: [album]}
vars: {photos: {type: list, of: media, kinds: image, keep: true}}
steps:
  photos: {ask: Which photos?, save: photos, gather: 5s, errors: {else: /sorry}, timeout: {after: 1h, then: end}}
  sure: {ask: "Keep {{ photos | map('url') | join(', ') }}?", buttons: {Keep: end, Forget: forget}, timeout: {after: 1h, then: forget}}
  forget: {say: Forgotten., clear: photos, then: end}
---
flow: line
start: {words: [line]}
interrupted: ask
vars: {place: {type: integer}}
steps:
  enter: {run: /enter_line, of: north, with: {who: "{{ contact.id }}"}, save: {place: place}, errors: {else: /sorry}}
  place:
    ask: "You are number {{ place }}, {{ contact.id }}."
    buttons: {Leave the line: leave}
    signals: {moved: {say: "The line moves, {{ contact.id }}."}}
    timeout: {after: 1h, then: leave}
  leave: {run: /leave_line, of: north, with: {who: "{{ contact.id }}"}, errors: {else: /sorry}}
  bye: {say: "You have left, {{ contact.id }}.", then: end}
---
flow: enter_line
shared: shop
vars: {line: {type: list, value: [], keep: true}, who: phone, place: integer}
steps:
  in: {branch: [{if: who in line, then: place}, {else: append}]}
  append: {set: {line: "{{ line + [who] }}"}}
  place: {set: {place: "{{ line | length }}"}, then: end}
---
flow: leave_line
shared: shop
vars: {line: {type: list, value: [], keep: true}, who: phone}
steps:
  remove: {set: {line: "{{ line | reject(it == who) }}"}}
  tell: {signal: moved, each: line, contact: "{{ it }}", then: end}
---
flow: sorry
steps: {s: {say: Sorry., then: end}}
"""


class Busy(Exception):
    """Declared by the handler."""


@cache
def programs() -> tuple[Program, ...]:
    """The versions of the bot."""
    large, big = {"RENAMED_FROM": "", "RENAMED": "large"}, {"RENAMED_FROM": ", renamed_from: large", "RENAMED": "big"}
    about = {"ABOUT": ", about: They want to buy something."}
    return (
        _program({**large, "ABOUT": ""}),
        _program({**big, **about}),
        _program({**large, **about}, "say: Hello.", "say: Hello there."),
    )


def _program(words: dict[str, str], before: str = "", after: str = "") -> Program:
    flows = _FLOWS
    for word, text in words.items():
        flows = flows.replace(word, text)
    flows = flows.replace(before, after) if before else flows
    extensions = extensions_in([{"work": work, "speech": speech}])
    loaded = load([Source("bot.yml", _BOT.encode()), Source("flows/all.yml", flows.encode())], extensions)
    assert loaded.library is not None, "\n".join(map(str, loaded.problems))
    return Program(loaded.library, extensions, [])


@handler("speech")
def speech(voice: Media) -> str | None:
    """What a voice note says: its own address."""
    return voice.url


at_work: list[Any] = []
"""What the handler does, as the simulation that runs has it: a function from its argument and key to its result."""


@handler("work", errors=[Busy])
def work(what: str, idempotency_key: str) -> str:
    """Do some work."""
    result: str = at_work[-1](what, idempotency_key)
    return result
