"""Building, checking and tagging a release."""
