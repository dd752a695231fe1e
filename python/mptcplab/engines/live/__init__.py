"""What the engines on real packets share: namespaces, interfaces and addresses."""

from mptcplab.engines.live.host import OUTSIDE, Interface, Route, add_interface, set_up
from mptcplab.engines.live.namespace import Namespace

__all__ = ["OUTSIDE", "Interface", "Namespace", "Route", "add_interface", "set_up"]
