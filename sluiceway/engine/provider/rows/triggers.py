"""What leads requests and schedules to a Worker: routes, custom domains, workers.dev, crons."""

from __future__ import annotations

from collections.abc import Callable

from sluiceway.domain import cron, hostname
from sluiceway.domain.fault import Fault
from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.faults import ApiFault, InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row, none_if_gone
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import Props, Value

DUPLICATE_ROUTE = 10020
DNS_CONFLICT = 100117


def _checked(path: str, value: Value, rule: Callable[[str], object]) -> list[InputFault]:
    if not isinstance(value, str):
        return []
    try:
        rule(value)
    except Fault as fault:
        hint = f" ({fault.hint})" if fault.hint else ""
        return [InputFault(path, f"{fault.message}, got {value!r}{hint}")]
    return []


_ROUTES = "/zones/{zoneId}/workers/routes"


class _Route(Quirks):
    """A pattern has one owner in its zone. A route moves between our own Workers by one update, so
    that no request is without an owner; one of somebody else's Worker is never taken."""

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        return _checked("pattern", props.get("pattern"), hostname.check_route)

    async def foresee(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> None:
        try:
            held = await self._held(client, row, props)
        except ApiFault:
            # A preview works without the right to read routes, and without a stage that runs.
            return
        if held:
            self._may_move(row, props, held, own)

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        async def made(_: float) -> Value:
            found = await self._held(client, row, props)
            return found if found and found.get("script") == props.get("script") else None

        try:
            return await client.call(self.request(row, row.create, props), made)
        except ApiFault as fault:
            held = await self._held(client, row, props) if fault.code == DUPLICATE_ROUTE else None
            if not held:
                raise
        self._may_move(row, props, held, own)
        if held.get("script") == props.get("script"):
            return held
        return await self.send(client, row, Call("PUT", f"{_ROUTES}/{{id}}"), props, str(held["id"]))

    async def delete(self, client: Client, row: Row, rid: str, props: Props) -> None:
        """Leaves a route that another Worker has got meanwhile: deleting it would cut that one off."""
        now = await none_if_gone(client, Request("GET", row.read.fill(props, rid)))
        if now and now.get("script") == props.get("script"):
            await self.remove(client, row, Request("DELETE", row.read.fill(props, rid)), rid, props)

    async def _held(self, client: Client, row: Row, props: Props) -> Props | None:
        routes = await client.call(Request("GET", row.create.fill(props)))
        return next((route for route in routes or [] if route.get("pattern") == props["pattern"]), None)

    def _may_move(self, row: Row, props: Props, held: Props, own: frozenset[str]) -> None:
        owner = held.get("script")
        if owner in (None, "", props.get("script")) or owner in own:
            return
        raise ApiFault(
            f"POST {row.create.fill(props)}",
            409,
            DUPLICATE_ROUTE,
            f"route {props['pattern']} belongs to Worker {owner!r}, which this program doesn't name",
            f"to move it in one step, import it first: {row.token} with id {props['zoneId']}/{held['id']}; "
            "or change the pattern",
        )


ROUTE = Row(
    "cloudflare:index/workersRoute:WorkersRoute",
    create=Call("POST", _ROUTES),
    read=Call("GET", f"{_ROUTES}/{{id}}"),
    update=Call("PUT", f"{_ROUTES}/{{id}}"),
    required=("pattern", "zoneId"),
    optional=("script",),
    parts=("zoneId", "id"),
    quirks=_Route(),
)

_DOMAINS = "/accounts/{accountId}/workers/domains"


class _CustomDomain(Quirks):
    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        return _checked("hostname", props.get("hostname"), hostname.check_hostname)

    async def foresee(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> None:
        """Looks for a DNS record of the same name, where the token may look."""
        zone, host = props.get("zoneId"), props["hostname"]
        if not zone:
            return
        try:
            domains = await client.call(Request("GET", row.create.fill(props), params={"hostname": host}))
            if any(domain.get("hostname") == host for domain in domains or []):
                return
            path = Call("GET", "/zones/{zoneId}/dns_records").fill(props)
            records = await client.call(Request("GET", path, params={"name": host}))
        except ApiFault:
            return
        found = [record for record in records or [] if record.get("name") == host]
        if found:
            raise ApiFault(
                f"PUT {row.create.fill(props)}",
                409,
                DNS_CONFLICT,
                f"{host} has a {found[0].get('type')} record that is not managed by Workers",
            )


CUSTOM_DOMAIN = Row(
    "cloudflare:index/workersCustomDomain:WorkersCustomDomain",
    create=Call("PUT", _DOMAINS),
    read=Call("GET", f"{_DOMAINS}/{{id}}"),
    update=Call("PUT", _DOMAINS),
    delete=Call("DELETE", f"{_DOMAINS}/{{id}}"),
    required=("accountId", "hostname", "service"),
    optional=("zoneId", "zoneName", "environment"),
    computed=("certId",),
    replaces=frozenset({"hostname", "zoneName"}),
    rules=Rules(given_once=frozenset({"environment", "zoneId", "zoneName"})),
    quirks=_CustomDomain(),
)

_SUBDOMAIN = "/accounts/{accountId}/workers/scripts/{scriptName}/subdomain"

SUBDOMAIN = Row(
    "cloudflare:index/workersScriptSubdomain:WorkersScriptSubdomain",
    create=Call("POST", _SUBDOMAIN),
    read=Call("GET", _SUBDOMAIN),
    update=Call("POST", _SUBDOMAIN),
    delete=Call("DELETE", _SUBDOMAIN),
    required=("accountId", "scriptName", "enabled"),
    optional=("previewsEnabled",),
    ident="scriptName",
    parts=("accountId", "scriptName"),
    replaces=frozenset({"scriptName"}),
    rules=Rules(given_once=frozenset({"previewsEnabled"})),
)

_SCHEDULES = "/accounts/{accountId}/workers/scripts/{scriptName}/schedules"


def _same_cron(text: str) -> str:
    try:
        return cron.parse(text).canonical
    except Fault:
        return text


class _Cron(Quirks):
    """Replaces all schedules of the script. Deleting makes no call: they go with the Worker."""

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        schedules = props.get("schedules")
        faults: list[InputFault] = []
        for index, item in enumerate(schedules if isinstance(schedules, list) else []):
            if isinstance(item, dict):
                faults += _checked(f"schedules[{index}].cron", item.get("cron"), cron.check)
        return faults

    def body(self, row: Row, props: Props) -> Value:
        return [{"cron": item["cron"]} for item in props["schedules"]]

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        facts = super().facts(row, result, props)
        return {name: item for name, item in facts.items() if name == "schedules"}


CRON = Row(
    "cloudflare:index/workersCronTrigger:WorkersCronTrigger",
    create=Call("PUT", _SCHEDULES),
    read=Call("GET", _SCHEDULES),
    update=Call("PUT", _SCHEDULES),
    required=("accountId", "scriptName", "schedules"),
    ident="scriptName",
    parts=("accountId", "scriptName"),
    replaces=frozenset({"scriptName"}),
    rules=Rules(
        keyed={"schedules": "cron"},
        canonical={"cron": _same_cron},
        server=frozenset({"createdOn", "modifiedOn"}),
    ),
    quirks=_Cron(),
)
