from .func import new as new
