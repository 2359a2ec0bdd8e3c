"""The version, which answers carry."""

VERSION = "0.1.0"
