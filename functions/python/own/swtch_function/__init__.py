"""In place of the project's handler in a package of `swtch faas package --handler`: a user's own function behind the same adapters.

`called.py`, which is written then, names the function; its sources are in the directory `user`.
"""
