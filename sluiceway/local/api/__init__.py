"""The Cloudflare v4 API of the local stage: one module or folder per product, rules and words of the platform."""
