"""Colours of terminal sessions: the command, not its output, which no lexer of a shell understands."""

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic, Text


class Session(RegexLexer):
    """Lines that begin with `$ ` are typed, others are printed."""

    name = "Terminal session"
    tokens = {"root": [(r"^(\$ )(.*\n)", bygroups(Generic.Prompt, Text)), (r".*\n", Generic.Output)]}


def setup(app: object) -> dict[str, bool]:
    """Sphinx calls it."""
    app.add_lexer("console", Session)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True}
