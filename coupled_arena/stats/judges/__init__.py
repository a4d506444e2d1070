"""What verdicts are worth, and how far they stretch human votes."""
