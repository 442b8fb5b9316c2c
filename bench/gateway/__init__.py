"""Our gateway beside a bare Worker, Portkey's gateway and LiteLLM's proxy: ``make bench-gateway``."""
