"""Model families, one file each, behind the adapter protocol of `base`."""
