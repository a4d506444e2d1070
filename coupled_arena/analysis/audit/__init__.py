"""What a judge's verdicts are worth."""
