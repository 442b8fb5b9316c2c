"""Worker releases: how a new worker version comes to serve, and how an earlier one comes back.

Everything is decided from what Cloudflare answers at that moment (`world`); no file remembers anything.
"""
