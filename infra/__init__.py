"""What exists in the cloud: the Pulumi program and its components."""

from infra.sdk import load_by_use

load_by_use()
