"""What every room shares: records, errors, settings, the catalog, prompts, interrupts."""
