"""Token automata and exact inference over them."""
