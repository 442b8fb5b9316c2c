"""Workers AI on the local stage: the binding's protocol and the REST API, in front of an engine."""
