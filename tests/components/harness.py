"""Runs declarations against Pulumi's mock monitor and keeps what was registered.

Inputs are kept as the engine would see them, so a secret shows as `Secret` and a value that is not
known in a preview as `UNKNOWN`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.runtime import mocks, rpc, settings
from pulumi.runtime.stack import run_in_stack

UNKNOWN = "<unknown>"

# Protobuf messages, and values of whatever shape a program registered: neither has types.
Message = Any


@dataclass(frozen=True)
class Secret:
    value: object


@dataclass(frozen=True)
class Registered:
    """One resource: ``inputs`` by the provider's (camelCase) names."""

    type: str
    name: str
    inputs: dict[str, Any]
    dependencies: frozenset[str]
    urn: str
    retained: bool
    ignored: tuple[str, ...] = ()


@dataclass
class Run:
    """What one run of a program registered and exported."""

    resources: list[Registered] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)

    def all(self, type_: str) -> list[Registered]:
        """The provider's resources of a type such as ``Worker``; components are not among them."""
        custom = [resource for resource in self.resources if not resource.type.startswith("sluiceway:infra:")]
        return [resource for resource in custom if resource.type.rsplit(":", 1)[-1] == type_]

    def named(self, name: str) -> Registered:
        (found,) = [resource for resource in self.resources if resource.name == name]
        return found

    def one(self, type_: str) -> Registered:
        (found,) = self.all(type_)
        return found


class _Answers(mocks.Mocks):
    """Answers with the inputs and an id made of the name; in a preview nothing but the inputs."""

    def __init__(self, preview: bool) -> None:
        self.preview = preview

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if self.preview:
            return None, dict(args.inputs)
        outputs = dict(args.inputs)
        if args.typ.endswith(":Worker"):
            outputs["subdomain"] = {**outputs["subdomain"], "url": f"https://{outputs['name']}.example.workers.dev"}
        return f"id-{args.name}", outputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"no function is called by the program: {args.token}")


@contextmanager
def _thread_loop() -> Iterator[None]:
    """Gives a thread of the executor an event loop, which the mock monitor would make and never close."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class _Monitor(mocks.MockMonitor):
    def __init__(self, preview: bool, run: Run) -> None:
        super().__init__(_Answers(preview))
        self.run = run

    def RegisterResource(self, request: Message) -> Message:
        with _thread_loop():
            answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            self.run.resources.append(
                Registered(
                    request.type,
                    request.name,
                    _plain(rpc.deserialize_properties(request.object, keep_unknowns=True)),
                    frozenset(request.dependencies),
                    answer.urn,
                    request.retainOnDelete,
                    tuple(request.ignoreChanges),
                )
            )
        return answer

    def RegisterResourceOutputs(self, request: Message) -> Message:
        if "::pulumi:pulumi:Stack::" in request.urn:
            self.run.outputs = _plain(rpc.deserialize_properties(request.outputs, keep_unknowns=True))
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def run_program(program: Callable[[], None], stack: str, preview: bool = False) -> Run:
    """Runs ``program`` as the engine would for ``stack`` and returns what it did."""
    run = Run()
    monitor = _Monitor(preview, run)

    async def main() -> None:
        # Not mocks.set_mocks: it makes a stack of its own, and `run_in_stack` makes the one that counts.
        settings.configure(
            mocks.MockSettings(  # type: ignore[no-untyped-call]
                monitor=monitor,
                monitor_features=set(monitor.GetDeploymentInfo(None).supportedFeatures),  # type: ignore[no-untyped-call]
                engine=mocks.MockEngine(None),
                project="sluiceway",
                stack=stack,
                dry_run=preview,
                organization="organization",
                callbacks=None,
            )
        )
        await run_in_stack(program)

    asyncio.run(main())
    return run


def _plain(value: Message) -> Message:
    if rpc.is_rpc_secret(value):
        return Secret(_plain(rpc.unwrap_rpc_secret(value)))
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return UNKNOWN if isinstance(value, pulumi.output.Unknown) else value
