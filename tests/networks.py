"""Links that several tests use, as scenario text: a test adds its connections to them."""

from typing import Final

FAST_AND_SLOW: Final = """
[link.fast]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "50 ms"

[link.slow]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 ms"
"""

WIFI_AND_LTE: Final = """
[link.wifi]
rate = "25 Mbit/s"
delay = "12.5 ms"
queue = "100 ms"

[link.lte]
down.rate = "30 Mbit/s"
up.rate = "5 Mbit/s"
delay = "32.5 ms"
queue = "100 ms"
"""
