"""The two resource plugins that run under the Pulumi engine.

``cloudflare_plugin`` stands in for the official Cloudflare provider where that can't be fetched;
``sluiceway_plugin`` holds what Cloudflare's provider has no resource for (R2 objects).

A request passes through: ``serve`` (gRPC) -> ``generic`` (what every resource does alike) -> a row
of ``rows`` (which calls, which properties) with its quirks -> ``transport`` (HTTP, retries, errors).
Adding a resource is adding a row.
"""
