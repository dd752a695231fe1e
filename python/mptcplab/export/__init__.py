"""Scenarios in other tools' words: what runs them without mptcplab, with the same network and the same traffic."""
