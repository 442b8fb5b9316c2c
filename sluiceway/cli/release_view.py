"""How ``sluiceway release`` shows worker versions, a proof and a promotion: as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sluiceway.release import marks
from sluiceway.release.promotion import Content, Difference
from sluiceway.release.proof import Proof
from sluiceway.release.world import Deployment, WorkerVersion, World

_SHOWN = 10
Json = dict[str, Any]


def world_json(stage: str, world: World) -> Json:
    return {
        "stage": stage,
        "worker": world.worker,
        "serves": [_share(world, deployment) for deployment in world.deployments[:1]],
        "versions": [version_json(version) for version in world.versions[:_SHOWN]],
        "deployments": [_share(world, deployment) for deployment in world.deployments[:_SHOWN]],
    }


def version_json(version: WorkerVersion) -> Json:
    return {
        "id": version.id,
        "number": version.number,
        "created_on": version.created_on,
        "release": version.release,
        "source": version.source,
    }


def world_lines(world: World) -> Iterator[str]:
    """What serves, then the newest versions with their shares, then the last deployments with what they say."""
    current = world.current
    yield f"{world.worker} serves {current.told(world.names)}" if current else f"{world.worker} serves nothing yet"
    yield ""
    yield "version   release         share  uploaded"
    for version in world.versions[:_SHOWN]:
        percent = current.percent(version.id) if current else None
        share = "-" if percent is None else f"{percent:g} %"
        yield f"{version.id[:8]}  {version.release or version.source:<14}  {share:>5}  {version.created_on[:19]}Z"
    yield ""
    for deployment in world.deployments[:_SHOWN]:
        words = marks.words_of(deployment) or f"{deployment.told(world.names)} by {deployment.author or 'somebody'}"
        mark = marks.mark_of(deployment)
        who = f"{mark.kind} of {world.names.get(mark.version, mark.version[:8])}: " if mark else ""
        yield f"{deployment.created_on:%Y-%m-%d %H:%M:%S}  {who}{words}"


def proof_json(stage: str, found: Sequence[Proof], forgotten: int) -> Json:
    return {
        "stage": stage,
        "forgotten": forgotten,
        "versions": [
            {
                **version_json(proof.version),
                "serves": proof.serves,
                "reachable": proof.reachable,
                "stays": proof.stays,
                "lost": list(proof.lost),
                "breaks": list(proof.breaks),
                "notes": list(proof.notes),
            }
            for proof in found
        ],
    }


def proof_lines(found: Sequence[Proof], forgotten: int) -> Iterator[str]:
    """One block for each version; the last line says how many stay."""
    for proof in found:
        word = "serves" if proof.serves else "can come back" if proof.reachable else "can't come back"
        after = "" if proof.stays or not proof.reachable else ", not after this change"
        yield f"{proof.version.name}: {word}{after}"
        yield from (f"  {reason}" for reason in (*proof.lost, *proof.breaks))
        yield from (f"  note: {note}" for note in proof.notes)
    if forgotten:
        yield f"{forgotten} more that once served are listed by Cloudflare no longer"
    stay = sum(proof.stays for proof in found)
    yield f"{stay} of {len(found)} can serve after this change."


def told_proof(document: Json) -> tuple[str, ...]:
    """A proof as `proof_json` made it, for a reviewer: how many versions stay, and what breaks for which."""
    if "error" in document:
        return (f"not known: {document['error']}",)
    versions: list[Json] = document.get("versions", [])
    lines = [f"{sum(bool(each.get('stays')) for each in versions)} of {len(versions)} worker versions that had requests"
             " can serve after this change."]  # fmt: skip
    for each in versions:
        name = f"{str(each.get('id'))[:8]} ({each.get('release') or each.get('source')})"
        reasons = [*each.get("lost", ()), *each.get("breaks", ()), *(f"note: {note}" for note in each.get("notes", ()))]
        lines += [f"{name}: {reason}" for reason in reasons]
    return tuple(lines)


def promotion_json(left: Content, right: Content, own: Sequence[Difference]) -> Json:
    return {
        "from": left.stage,
        "to": right.stage,
        "digest": left.digest,
        "releases": {left.stage: left.release, right.stage: right.release},
        "own": [{"path": each.path, left.stage: each.left, right.stage: each.right} for each in own],
    }


def _share(world: World, deployment: Deployment) -> Json:
    mark = marks.mark_of(deployment)
    return {
        "id": deployment.id,
        "created_on": deployment.created_on.isoformat(),
        "message": deployment.message,
        "author": deployment.author,
        "kind": mark.kind if mark else None,
        "versions": [
            {"id": share.version, "percent": share.percent, "release": _release(world, share.version)}
            for share in deployment.shares
        ],
    }


def _release(world: World, version_id: str) -> str | None:
    version = world.version(version_id)
    return version.release if version else None
