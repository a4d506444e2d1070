"""What the stored data say: each analysis reads, then concludes at one error level."""
