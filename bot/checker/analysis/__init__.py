"""Ways through the graph: circles, which steps a conversation comes to, and how long its contact has been silent there."""
