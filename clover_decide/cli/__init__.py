"""The `clover-decide` command. One file a command; importing this package loads neither torch nor rich."""
