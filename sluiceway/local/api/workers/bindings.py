"""Bindings of a worker version: what is inherited and kept, whether what they point at exists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sluiceway.local import world
from sluiceway.local.api import errors
from sluiceway.local.store import Doc, Records

_NAME = re.compile(r"^[A-Za-z_$][A-Za-z0-9_$]*$")
MAX_TEXT_BYTES = 5 * 1024
MAX_TEXTS = 128
_TEXT_TYPES = ("plain_text", "secret_text", "json")


def resolve(records: Records, worker: Doc | None, metadata: Doc) -> tuple[list[Doc], dict[str, str]]:
    """Bindings without secret texts, and those texts by name, after ``inherit`` and ``keep_bindings``.

    ApiError for a name used twice, a value that breaks a limit, or an inherited binding that isn't there.
    """
    before, texts_before = _latest(records, worker)
    found: dict[str, Doc] = {}
    texts: dict[str, str] = {}
    for given in metadata.get("bindings") or []:
        name = _checked_name(given, found)
        binding = dict(given)
        if binding.get("type") == "inherit":
            old = str(binding.get("old_name") or name)
            if old not in before:
                raise errors.ApiError(
                    400, 10057, f"Binding '{name}' can't be inherited: the latest version has no binding '{old}'."
                )
            binding = {**before[old], "name": name}
            if old in texts_before:
                texts[name] = texts_before[old]
        elif binding.get("type") == "secret_text":
            texts[name] = _secret(binding)
        found[name] = binding
    kept = set(metadata.get("keep_bindings") or [])
    for name, binding in before.items():
        if binding["type"] in kept and name not in found:
            found[name] = binding
            if name in texts_before:
                texts[name] = texts_before[name]
    _check_limits(found.values(), texts)
    return list(found.values()), texts


def check_targets(records: Records, worker_name: str, classes: Iterable[str], bindings: Iterable[Doc]) -> None:
    """ApiError if a binding points at something that doesn't exist. ``classes``: Durable Objects of this Worker."""
    known = set(classes)
    for binding in bindings:
        if binding["type"] == "durable_object_namespace":
            _check_class(records, worker_name, known, binding)
        elif check := _TARGETS.get(binding["type"]):
            check(records, worker_name, binding)


def in_api_order(bindings: Iterable[Doc]) -> list[Doc]:
    """As the API answers them: by type, then name, whatever the order of the upload."""
    return sorted(bindings, key=lambda binding: (binding["type"], binding["name"]))


def _latest(records: Records, worker: Doc | None) -> tuple[dict[str, Doc], dict[str, str]]:
    newest = records.newest("version", worker["id"], 1) if worker else []
    if not newest:
        return {}, {}
    return {b["name"]: b for b in newest[0]["bindings"]}, world.secrets_of(records, newest[0]["id"])


def _checked_name(binding: Doc, found: dict[str, Doc]) -> str:
    name, type_ = binding.get("name"), binding.get("type")
    if not isinstance(name, str) or not _NAME.match(name):
        raise errors.validation(f"Binding name '{name}' is not a valid identifier.")
    if not isinstance(type_, str):
        raise errors.validation(f"Binding '{name}' has no type.")
    if type_ == "secret_key":
        raise errors.validation(f"Binding '{name}': the local stage does not serve bindings of type secret_key.")
    if name in found:
        raise errors.validation(f"Binding name '{name}' already in use. Please use a different name and try again.")
    return name


def _secret(binding: Doc) -> str:
    # Taken out of the binding, so that no answer built from it can hold the text.
    text = binding.pop("text", None)
    if not isinstance(text, str):
        raise errors.validation(f"Binding '{binding['name']}' of type secret_text has no text.")
    return text


def _check_limits(bindings: Iterable[Doc], texts: dict[str, str]) -> None:
    held = [binding for binding in bindings if binding["type"] in _TEXT_TYPES]
    if len(held) > MAX_TEXTS:
        raise errors.validation(f"A Worker may have at most {MAX_TEXTS} variables, got {len(held)}.")
    for binding in held:
        text = texts.get(binding["name"], binding.get("text", binding.get("json", "")))
        if isinstance(text, str) and len(text.encode()) > MAX_TEXT_BYTES:
            raise errors.validation(f"The value of '{binding['name']}' exceeds the limit of 5 KB.")


def _check_class(records: Records, worker_name: str, classes: set[str], binding: Doc) -> None:
    script, name = binding.get("script_name") or worker_name, binding.get("class_name")
    if script != worker_name:
        other = next((w for w in records.all("worker") if w["name"] == script), None)
        if other is None:
            raise errors.validation(f"Script '{script}' of binding '{binding['name']}' does not exist.")
        classes = set(other.get("classes") or {})
    if name not in classes:
        raise errors.ApiError(
            400,
            10061,
            f"Cannot create binding for class '{name}' because it is not currently configured to implement"
            " Durable Objects. Did you forget to apply a 'new-class' migration?",
        )


def _kv(records: Records, _: str, binding: Doc) -> None:
    if not records.get("kv", str(binding.get("namespace_id"))):
        raise errors.ApiError(400, 10041, f"KV namespace '{binding.get('namespace_id')}' not found.")


def _r2(records: Records, _: str, binding: Doc) -> None:
    name, jurisdiction = str(binding.get("bucket_name")), binding.get("jurisdiction") or "default"
    if not records.get("bucket", name, jurisdiction):
        raise errors.ApiError(400, 10085, f"R2 bucket '{name}' not found. Please use a different name and try again.")


def _queue(records: Records, _: str, binding: Doc) -> None:
    if not any(queue["queue_name"] == binding.get("queue_name") for queue in records.all("queue")):
        raise errors.ApiError(400, 11000, f"Queue '{binding.get('queue_name')}' not found.")


def _service(records: Records, worker_name: str, binding: Doc) -> None:
    target = binding.get("service")
    if target != worker_name and not any(worker["name"] == target for worker in records.all("worker")):
        raise errors.ApiError(
            400,
            10143,
            f"Could not resolve service binding '{binding['name']}'. Target script '{target}' not found.",
        )


def _ratelimit(_: Records, __: str, binding: Doc) -> None:
    simple = binding.get("simple") or {}
    if not re.fullmatch(r"[1-9]\d*", str(binding.get("namespace_id", ""))):
        raise errors.validation(f"ratelimit binding '{binding['name']}': namespace_id must be a positive integer.")
    if simple.get("period") not in (10, 60) or not isinstance(simple.get("limit"), int) or simple["limit"] < 1:
        raise errors.validation(f"ratelimit binding '{binding['name']}': limit must be positive, period 10 or 60.")


_TARGETS: dict[str, Callable[[Records, str, Doc], None]] = {
    "kv_namespace": _kv,
    "r2_bucket": _r2,
    "queue": _queue,
    "service": _service,
    "ratelimit": _ratelimit,
}


def check_secret(name: str, text: str | None) -> None:
    """ApiError for a secret that could not be a binding."""
    _checked_name({"name": name, "type": "secret_text"}, {})
    _check_limits([{"name": name, "type": "secret_text"}], {} if text is None else {name: text})
