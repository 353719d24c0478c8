"""Runners: everything that can be asked about a labelled group, behind one protocol."""
