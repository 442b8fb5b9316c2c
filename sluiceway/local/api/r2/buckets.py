"""Buckets. A bucket lives in one jurisdiction: without its header the bucket is not there."""

from __future__ import annotations

import re

from starlette.responses import Response

from sluiceway.local import world
from sluiceway.local.api import envelope, shapes
from sluiceway.local.api.errors import ApiError
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.store import Doc, Json, Records

BASE = f"{ACCOUNT}/r2/buckets"
BUCKET = f"{BASE}/{{bucket}}"
JURISDICTIONS = ("default", "eu", "fedramp", "us")
LOCATIONS = ("APAC", "EEUR", "ENAM", "WEUR", "WNAM", "OC")
STORAGE_CLASSES = ("Standard", "InfrequentAccess")
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$")
# What a new bucket has, until its rules are replaced.
_DEFAULT_RULE = {
    "id": "Default Multipart Abort Rule",
    "enabled": True,
    "conditions": {"prefix": ""},
    "abortMultipartUploadsTransition": {"condition": {"type": "Age", "maxAge": 604_800}},
}


def jurisdiction(call: Call) -> str:
    found = call.request.headers.get("cf-r2-jurisdiction", "default").lower() or "default"
    if found not in JURISDICTIONS:
        raise ApiError(400, 10005, f"The jurisdiction '{found}' is not valid.")
    return found


def require(call: Call, records: Records) -> Doc:
    bucket = records.get("bucket", call.param("bucket"), jurisdiction(call))
    if bucket is None:
        raise ApiError(404, 10006, "The specified bucket does not exist.")
    return bucket


async def listing(call: Call) -> Response:
    prefix, down = call.query("name_contains"), call.query("direction") == "desc"
    found = [b for b in call.state.all("bucket", jurisdiction(call)) if prefix in b["name"]]
    found.sort(key=lambda bucket: str(bucket["name"]), reverse=down)
    size, after = call.number("per_page", 1000, high=1000), call.query("cursor")
    rest = [b for b in found if not after or (b["name"] < after if down else b["name"] > after)]
    cursor = rest[size - 1]["name"] if len(rest) > size else ""
    return envelope.ok({"buckets": [_view(b) for b in rest[:size]]}, info={"cursor": cursor, "per_page": size})


async def get(call: Call) -> Response:
    return envelope.ok(_view(require(call, call.state)))


async def create(call: Call) -> Response:
    body, place = await call.object(), jurisdiction(call)
    name, location = body.get("name"), str(body.get("locationHint") or "").upper()
    storage_class = body.get("storageClass") or "Standard"
    if not isinstance(name, str) or not _NAME.match(name):
        raise ApiError(400, 10005, "The specified bucket name is not valid.")
    if location and location not in LOCATIONS:
        raise ApiError(400, 10009, f"The location hint '{body.get('locationHint')}' is not valid.")
    _check_class(storage_class)

    def apply(records: Records) -> Doc:
        if records.get("bucket", name, place):
            raise ApiError(409, 10004, "The bucket you tried to create already exists, and you own it.")
        # A name keeps the place where its first bucket was made.
        first = records.get("bucket_location", name, place) or {"location": location or "WEUR"}
        records.put("bucket_location", name, first, place)
        bucket = {
            "name": name,
            "creation_date": call.config.stamp(),
            "location": first["location"],
            "jurisdiction": place,
            "storage_class": storage_class,
            "lifecycle": [_DEFAULT_RULE],
        }
        records.put("bucket", name, bucket, place)
        return bucket

    return envelope.ok(_view(await call.control.change(apply)))


async def patch(call: Call) -> Response:
    """The storage class of new objects, given by header."""
    wanted = call.request.headers.get("cf-r2-storage-class", "")
    _check_class(wanted)

    def apply(records: Records) -> Doc:
        bucket = {**require(call, records), "storage_class": wanted}
        records.put("bucket", bucket["name"], bucket, bucket["jurisdiction"])
        return bucket

    return envelope.ok(_view(await call.control.change(apply)))


async def delete(call: Call) -> Response:
    bucket = require(call, call.state)
    held = await call.control.host.r2_list(world.bucket_id(bucket["name"], bucket["jurisdiction"]), {"limit": "1"})
    if held.get("objects"):
        raise ApiError(409, 10008, "The bucket you tried to delete is not empty.")

    def apply(records: Records) -> None:
        gone = require(call, records)
        records.delete("bucket", gone["name"], gone["jurisdiction"])

    await call.control.change(apply)
    return envelope.ok({})


async def get_lifecycle(call: Call) -> Response:
    return envelope.ok({"rules": require(call, call.state)["lifecycle"]})


async def put_lifecycle(call: Call) -> Response:
    rules = (await call.object(shapes.Rules)).get("rules", [])
    if not isinstance(rules, list) or not all(_is_rule(rule) for rule in rules):
        raise ApiError(400, 10012, "The lifecycle configuration is not valid.")
    if len({rule["id"] for rule in rules}) != len(rules):
        raise ApiError(400, 10012, "The ids of lifecycle rules must be unique.")

    def apply(records: Records) -> None:
        bucket = {**require(call, records), "lifecycle": rules}
        records.put("bucket", bucket["name"], bucket, bucket["jurisdiction"])

    await call.control.change(apply)
    return envelope.ok({})


def _is_rule(rule: Json) -> bool:
    return (
        isinstance(rule, dict)
        and isinstance(rule.get("id"), str)
        and isinstance(rule.get("enabled"), bool)
        and isinstance((rule.get("conditions") or {}).get("prefix", ""), str)
    )


def _check_class(name: object) -> None:
    if name not in STORAGE_CLASSES:
        raise ApiError(400, 10062, f"The storage class '{name}' is not valid.")


def _view(bucket: Doc) -> Doc:
    return {key: value for key, value in bucket.items() if key != "lifecycle"}


ROUTES: Table = (
    ("GET", BASE, listing),
    ("POST", BASE, create),
    ("GET", BUCKET, get),
    ("PATCH", BUCKET, patch),
    ("DELETE", BUCKET, delete),
    ("GET", f"{BUCKET}/lifecycle", get_lifecycle),
    ("PUT", f"{BUCKET}/lifecycle", put_lifecycle),
)
