"""Lets Spark find the data source ``tatter`` without registration: Spark looks for ``pyspark_NAME.DefaultSource``."""

from tatter_data.source import TatterSource as DefaultSource

__all__ = ["DefaultSource"]
