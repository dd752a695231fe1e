"""What the engines on real packets share: namespaces, interfaces, addresses, and whether this machine has them."""

from mptcplab.live.host import Interface, Route, add_interface, set_up
from mptcplab.live.namespace import Namespace
from mptcplab.live.requirements import UnavailableError, require

__all__ = ["Interface", "Namespace", "Route", "UnavailableError", "add_interface", "require", "set_up"]
