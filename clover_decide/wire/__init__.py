"""Wire formats: pydantic models of what travels, and the mappings to questions and from decisions. Nothing else."""
