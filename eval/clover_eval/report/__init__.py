"""Reports: from files of results to tables, plots and text."""
