"""Many runs: planned, carried out in parallel, journalled one by one, and put together as one dataset."""
