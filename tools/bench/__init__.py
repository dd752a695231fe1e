"""The benchmark: seven workloads, measured and compared between commits (docs/performance.md)."""
