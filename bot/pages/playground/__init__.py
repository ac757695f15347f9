"""A bot in the browser, for `bot dev`: the phones of made-up contacts, a map of the flows, and the details of each
turn.

`playground` runs the bot beside the emulators and takes what a person does on the page; `contact_view` says what there
is to see of a contact, `flow_map` draws the flows; `playground_app` makes pages of it, which `playground_server`
serves.
"""
