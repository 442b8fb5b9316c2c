"""What exists in the cloud: the Pulumi program and its components."""

import gc

# The SDK makes a million objects at its import, and all of them live to the end of the program. To look for garbage
# among them again and again takes half of the import's four seconds, in each preview and each update.
gc.disable()
import pulumi_cloudflare  # noqa: E402, F401

gc.freeze()
gc.enable()
