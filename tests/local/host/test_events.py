"""What leaves a Worker beside its answers: data points, logs, queue messages, scheduled runs."""

from __future__ import annotations

import pytest

from tests.local.host.conftest import StartHost
from tests.local.host.driver import Host, Version, until
from tests.local.host.upstream import Upstream

SOURCE = """
export default {
  async fetch(request, env, ctx) {
    const path = new URL(request.url).pathname;
    if (path === "/throw") throw new RangeError("thrown on purpose");
    if (path === "/late") { ctx.waitUntil(Promise.reject(new Error("rejected late"))); return new Response("ok"); }
    if (path === "/send") {
      await env.EVENTS.send({ n: 1 });
      await env.EVENTS.sendBatch([{ body: "two" }, { body: "three" }]);
    }
    if (path === "/bad") return new Response(refused(() => env.METRICS.writeDataPoint({ indexes: ["a", "b"] })));
    console.log("handled", path, { deep: true });
    const blobs = ["a", new TextEncoder().encode("b").buffer, null];
    const nothing = env.METRICS.writeDataPoint({ indexes: ["chat@1"], blobs, doubles: [1.5, 2] });
    return new Response(String(nothing));
  },
  async scheduled(controller, env) { await env.KV.put("cron", `${controller.cron} ${controller.scheduledTime}`); },
  async queue(batch, env) {
    for (const message of batch.messages) await env.KV.put(`got ${JSON.stringify(message.body)}`, batch.queue);
  },
};
function refused(call) { try { call(); } catch (error) { return String(error); } }
"""
BINDINGS = [
    {"name": "METRICS", "type": "analytics_engine", "dataset": "sluiceway_test"},
    {"name": "EVENTS", "type": "queue", "queue_name": "events"},
    {"name": "KV", "type": "kv_namespace", "namespace_id": "kv"},
]


@pytest.fixture
def eventful(start: StartHost, upstream: Upstream) -> tuple[Host, Version]:
    host = start(sink_url=f"{upstream.url}/sink")
    version = Version({"index.js": SOURCE}, bindings=BINDINGS)
    consumers = [{"queue": "events", "script": "eventful", "batch_size": 10, "max_wait_time_ms": 100}]
    host.apply(host.worker("eventful", [(version, 100)]), kv=["kv"], queues=["events"], consumers=consumers)
    return host, version


def test_a_data_point_reaches_the_sink_and_a_bad_one_throws(eventful: tuple[Host, Version], upstream: Upstream) -> None:
    host, version = eventful
    assert host.get("/").text == "undefined"
    until(lambda: upstream.named("analytics"))
    (point,) = upstream.named("analytics")
    point.pop("timestamp")
    assert point == {
        "kind": "analytics",
        "dataset": "sluiceway_test",
        "script": "eventful",
        "version": version.id,
        "indexes": ["chat@1"],
        "blobs": ["a", "b", None],
        "doubles": [1.5, 2],
    }
    assert "indexes" in host.get("/bad").text


def test_logs_and_exceptions_reach_the_sink_with_their_worker(
    eventful: tuple[Host, Version], upstream: Upstream
) -> None:
    host, version = eventful
    for path in ("/logged", "/throw", "/late"):
        host.get(path)
    until(lambda: len(upstream.named("tail")) >= 3)
    tails = {event["request"]["url"].rsplit("/", 1)[1]: event for event in upstream.named("tail")}
    assert all((event["script"], event["version"]) == ("eventful", version.id) for event in tails.values())
    assert tails["logged"]["logs"][0]["message"] == ["handled", "/logged", {"deep": True}]
    assert (tails["logged"]["outcome"], tails["logged"]["status"]) == ("ok", 200)
    assert tails["throw"]["exceptions"][0]["message"] == "thrown on purpose"
    assert "index.js:5" in tails["throw"]["exceptions"][0]["stack"]
    assert tails["late"]["exceptions"][0]["message"] == "rejected late"


def test_a_cron_runs_the_scheduled_handler_with_its_time(eventful: tuple[Host, Version]) -> None:
    host, _ = eventful
    call = {"script": "eventful", "cron": "*/5 * * * *", "scheduled_time": 1_790_000_000_000}
    assert host.admin.post("/cron", json=call).json() == {"outcome": "ok"}
    assert host.admin.get(host.kv("kv", "cron")).text == "*/5 * * * * 1790000000000"


@pytest.mark.parametrize(
    ("change", "words"), [({"cron": "61 * * * *"}, "minute"), ({"script": "absent"}, "no deployed version")]
)
def test_a_cron_that_cannot_run_is_refused(eventful: tuple[Host, Version], change: dict[str, str], words: str) -> None:
    host, _ = eventful
    answer = host.admin.post("/cron", json={"script": "eventful", "cron": "* * * * *", **change})
    assert answer.status_code == 422 and words in answer.json()["error"]["message"]


def test_queue_messages_reach_the_consumer(eventful: tuple[Host, Version]) -> None:
    host, _ = eventful
    host.get("/send")
    wanted = ['got "three"', 'got "two"', 'got {"n":1}']
    until(lambda: len(host.admin.get("/kv/kv/keys", params={"prefix": "got"}).json()["keys"]) == 3)
    keys = host.admin.get("/kv/kv/keys", params={"prefix": "got"}).json()["keys"]
    assert [entry["name"] for entry in keys] == wanted


def test_a_sink_that_is_down_costs_no_request(start: StartHost) -> None:
    host = start(sink_url="http://127.0.0.1:9/sink")
    version = Version({"index.js": SOURCE}, bindings=BINDINGS)
    host.apply(host.worker("eventful", [(version, 100)]), kv=["kv"], queues=["events"])
    assert host.get("/").status_code == 200
    until(lambda: host.events("events could not be delivered"))
