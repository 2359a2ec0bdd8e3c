"""The networks, built by code: shapes, parameters and work are known without any runtime."""
