"""The HTTP service: `clover-decide serve`. Importing this package loads neither torch nor a web framework."""
