"""Where a model's weights come from: a folder, a Python package, Hugging Face, a training script of the checkout.

Whatever the source, only files of known kinds get through, pickles never do, and nothing that came with the weights is
run.
"""

from sluiceway.pipeline.source.fetch import Fetched, fetch, module_digest, settings

__all__ = ["Fetched", "fetch", "module_digest", "settings"]
