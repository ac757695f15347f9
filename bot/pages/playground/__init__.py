"""The page of `bot dev`: the phones of made-up contacts, a map of the flows, and the turns with their reasons.

`playground` runs the bot beside the emulators and does what a person does on the page. `flow_map` draws the flows.
`playground_app` makes the page, and `playground_server` serves it.
"""
