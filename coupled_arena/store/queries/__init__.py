"""What the analyses read, summed up in SQL."""
