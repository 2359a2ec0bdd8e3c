"""A measurement that is over in about two seconds; enough for its shape, not for its figures."""

SHORT = {"methods": "pipe", "placements": "same-cpu", "time_limit": 2.0}
