"""What someone can find out from a release who knows people in the original, one attack per file."""
