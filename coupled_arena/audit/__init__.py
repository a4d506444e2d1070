"""The audit of a judge: what its verdicts on the stored battles are worth."""
