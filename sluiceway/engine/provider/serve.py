"""The gRPC side of a plugin: the SDK's servicer, with errors as people should see them.

The SDK's own ``main`` shows a Python traceback for every failure and keeps the old inputs of a diff
to itself; both are put right here.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
from pulumi.provider.experimental import provider as api
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from sluiceway.engine.provider import values
from sluiceway.engine.provider.generic import TableProvider
from sluiceway.errors import SluicewayError

Message: TypeAlias = Any
"""A protobuf message; the SDK's generated classes carry no types that mypy reads."""


class PluginServicer(ProviderServicer):
    """The SDK's servicer for a TableProvider."""

    _provider: TableProvider

    async def Diff(self, request: Message, context: grpc.aio.ServicerContext[Message, Message]) -> Message:
        async def diff(_: Message, __: Message) -> Message:
            answer = await self._provider.diff_inputs(
                api.DiffRequest(
                    request.urn,
                    request.id,
                    PropertyValue.unmarshal_map(request.olds),
                    PropertyValue.unmarshal_map(request.news),
                    list(request.ignoreChanges),
                ),
                values.decode_map(PropertyValue.unmarshal_map(request.old_inputs)),
            )
            return _diff_message(answer)

        return await _told_plainly(diff, request, context)


def _diff_message(answer: api.DiffResponse) -> Message:
    pb = provider_pb2
    return pb.DiffResponse(
        changes=pb.DiffResponse.DIFF_SOME if answer.changes else pb.DiffResponse.DIFF_NONE,
        replaces=answer.replaces,
        diffs=answer.diffs,
        detailedDiff={
            name: pb.PropertyDiff(kind=_kind(detail), inputDiff=detail.input_diff)
            for name, detail in answer.detailed_diff.items()
        },
        hasDetailedDiff=True,
    )


def _kind(detail: api.PropertyDiff) -> Message:
    return detail.kind.value


async def _told_plainly(
    method: Callable[[Message, Message], Awaitable[Message]],
    request: Message,
    context: grpc.aio.ServicerContext[Message, Message],
) -> Message:
    try:
        return await method(request, context)
    except Exception as error:
        # The SDK wraps what happened in an Exception that carries the traceback as text.
        cause = error if isinstance(error, SluicewayError) else error.__context__
        if not isinstance(cause, SluicewayError):
            raise
        text = f"{cause}\nhint: {cause.hint}" if cause.hint else str(cause)
        await context.abort(grpc.StatusCode.UNKNOWN, text)


def _wrapped(name: str) -> Callable[..., Awaitable[Message]]:
    async def method(self: PluginServicer, request: Message, context: Message) -> Message:
        return await _told_plainly(getattr(super(PluginServicer, self), name), request, context)

    return method


for _name in ("CheckConfig", "DiffConfig", "Configure", "Check", "Create", "Read", "Update", "Delete", "GetSchema"):
    setattr(PluginServicer, _name, _wrapped(_name))


async def _orphaned(parent: int) -> None:
    """Returns when the engine has died without a word: nobody could ever call again."""
    while os.getppid() == parent:
        await asyncio.sleep(1)


def serve(provider: TableProvider, version: str, argv: list[str]) -> None:
    """Runs until the engine ends the process, or is gone itself. Its first line is the port, as the engine expects."""
    parent = os.getppid()
    engine = next((arg for arg in argv if not arg.startswith("-")), "")

    async def run() -> None:
        server = grpc.aio.server(options=_GRPC_CHANNEL_OPTIONS)
        servicer = PluginServicer(argv, version, provider, engine_address=engine)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        over = {asyncio.ensure_future(server.wait_for_termination()), asyncio.ensure_future(_orphaned(parent))}
        await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
        await server.stop(0)

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        # Only when run by hand: the engine starts plugins in a process group of their own.
        return
