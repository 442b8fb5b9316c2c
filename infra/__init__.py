"""What exists in the cloud: the Pulumi program and its components."""
