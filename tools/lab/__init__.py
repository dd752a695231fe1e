"""The page of `mptcplab lab` in a browser: its pictures, and how quickly it answers."""
