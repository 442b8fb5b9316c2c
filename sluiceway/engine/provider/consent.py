"""The one variable that plugins and shells both know, apart: a command for a shell loads no code of a plugin."""

CONSENT = "SLUICEWAY_STANDIN_PROVIDER"
"""Set to 1 by whoever uses the stand-in against another API than the local stage's."""
