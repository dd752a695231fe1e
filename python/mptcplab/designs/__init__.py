"""Experiment designs: points in the unit cube, how evenly they fill it, and what they mean as values of factors."""

from mptcplab.designs.adaptive import adaptive
from mptcplab.designs.factors import Factor, FactorError, factor
from mptcplab.designs.plain import DesignError, grid, latin_hypercube, random
from mptcplab.designs.quality import Quality, quality
from mptcplab.designs.wsp import select, wsp

__all__ = [
    "DesignError",
    "Factor",
    "FactorError",
    "Quality",
    "adaptive",
    "factor",
    "grid",
    "latin_hypercube",
    "quality",
    "random",
    "select",
    "wsp",
]
