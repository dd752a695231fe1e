"""Runs against one another: settings on paired seeds, engines side by side, and where the packets of two runs part."""
