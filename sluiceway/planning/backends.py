"""Whether a stage can ask the servers of what it serves, and serves who stands in for its models."""

from __future__ import annotations

from sluiceway.domain.model import ModelVersion
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.planning.parts import GatewayPlan, ModelPlan
from sluiceway.settings.model import Settings


def check(
    settings: Settings, models: tuple[ModelPlan, ...], secrets: tuple[str, ...], gateway: GatewayPlan | None
) -> None:
    """UserError for the first version in a split or rollout that this stage can't ask, or fallback that it doesn't
    serve.

    Other versions may lack a secret or a gateway: a stage needn't be ready for all that was ever tried.
    """
    root = f"{settings.source}: config.sluiceway:models"
    for model in models:
        by_ref = {str(version.ref): version for version in model.versions}
        for place, version in settings.models[model.name].named():
            _reachable(settings, by_ref[version], secrets, gateway, f"{root}.{model.name}.{place}")
        for target in model.fallback:
            name = target.partition("@")[0]
            if name not in settings.models:
                hint = f"add {name} to sluiceway:models, or take it out of fallback in models/{model.name}.yaml"
                message = f"{target} stands in for {model.name}, and this stage doesn't serve it"
                raise UserError(message, path=f"{root}.{model.name}", hint=hint)


def _reachable(
    settings: Settings, version: ModelVersion, secrets: tuple[str, ...], gateway: GatewayPlan | None, path: str
) -> None:
    secret, base = version.secret, version.base_url
    if secret is not None and secret not in secrets:
        hint = f"add {secret} to sluiceway:secrets, and its value by: sluiceway secrets set {settings.stage} {secret}"
        message = f"{version.ref} needs a secret that the Worker isn't given"
        raise UserError(message, path=path, got=secret, hint=hint)
    if version.provider is None or gateway is None:
        if version.provider is not None and base is None:
            hint = "set sluiceway:gateway's enabled to true, or serve a version that has a base_url"
            raise UserError(
                f"{version.ref} is asked through an AI Gateway, which this stage hasn't", path=path, hint=hint
            )
        if base is not None and base.startswith("http:") and settings.stage != LOCAL:
            hint = f"serve it on stage {LOCAL} alone, or add a version whose base_url is https"
            raise UserError(f"{version.ref} is asked on loopback, where Cloudflare has nothing", path=path, hint=hint)
