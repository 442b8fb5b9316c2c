"""What exists in the cloud: the Pulumi program and its components."""

import gc

# The SDK makes a million objects at its import, and all of them live to the end of the program. To look for garbage
# among them costs each preview and update half a second of three, and another at the end of an official host's run.
gc.disable()
import pulumi_cloudflare  # noqa: E402, F401

gc.freeze()
gc.enable()
