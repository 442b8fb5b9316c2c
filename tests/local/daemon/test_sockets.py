"""What the daemon listens on."""

from __future__ import annotations

import asyncio
import socket

from sluiceway.local.daemon_stage import bind


def test_connections_are_answered_without_waiting_for_acknowledgements() -> None:
    """asyncio switches Nagle's algorithm off only for sockets that name their protocol."""

    async def accepted_option() -> int:
        loop = asyncio.get_running_loop()
        seen: asyncio.Future[int] = loop.create_future()

        class Accepted(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                taken = transport.get_extra_info("socket")
                seen.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                assert isinstance(transport, asyncio.Transport)
                transport.abort()

        server = await loop.create_server(Accepted, sock=bind(0, "api"))
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        found = await seen
        writer.close()
        server.close()
        await server.wait_closed()
        return found

    assert asyncio.run(accepted_option()) != 0
