"""LinkedDecisions: generators of the benchmark's test and validation sets. Training code must not import this package."""
