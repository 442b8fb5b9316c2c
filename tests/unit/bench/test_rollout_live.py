"""Runs on a stage: one that breaks off doesn't end the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from bench.rollout.live import KINDS, Rest, _survived
from bench.rollout.live_report import Run
from bench.rollout.load import Crowd, Gateway


def broken_off(answer: httpx.MockTransport, data: Path) -> Run:
    async def run() -> Run:
        async with httpx.AsyncClient(transport=answer) as client:
            crowd = Crowd(Gateway("http://gateway.test", "key", "admin"), client, "slower-1", 50, False)
            return await _survived(data, KINDS[2], crowd)

    return asyncio.run(run())


def test_a_stage_that_is_gone_breaks_one_run_off(tmp_path: Path) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("gone", request=request)

    found = broken_off(httpx.MockTransport(refuse), tmp_path)
    assert (found.kind, found.named, found.broken) == ("slower", None, "ConnectError: gone")


def test_a_stage_whose_faults_can_t_be_reached_breaks_one_run_off(tmp_path: Path) -> None:
    found = broken_off(httpx.MockTransport(lambda _: httpx.Response(200, json={})), tmp_path)
    assert found.broken is not None and found.asked == 0


def test_what_is_left_is_said_after_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    moments = iter((0.0, 60.0))
    rest = Rest(4, clock=lambda: next(moments))
    rest.add(Run("slower", "latency", "latency", 10, 10, 0.0, 0.0, 500, 0))
    assert "1 of 4, about 3 min 00 s left" in capsys.readouterr().err
