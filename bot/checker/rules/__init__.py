"""The rules: what can be wrong in a bot that loads, each a function from the graph to findings. `prove` lists them."""
