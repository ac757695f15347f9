"""The clients of the gateway, of models and of a bot's own services. One call is one request; nothing is
retried here.
"""
