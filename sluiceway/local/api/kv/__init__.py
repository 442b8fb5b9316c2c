"""KV: namespaces here, keys and values in the data plane."""
