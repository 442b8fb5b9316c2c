"""Adapters to Cloudflare's API. Each leaves the user's other cloud settings alone, and never shows a credential."""
