"""What `bot doctor` looks at: this machine, both services, the webhook's address. It sends nothing to a contact."""
