"""Serverless functions: what switches and throttling cost them at each memory tier.

Importing this package imports none of it.
"""
