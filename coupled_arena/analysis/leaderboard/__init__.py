"""Who is preferred how often."""
