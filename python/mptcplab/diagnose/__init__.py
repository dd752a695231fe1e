"""`diagnose`: from what people paste to the cause (docs/diagnose.md)."""
