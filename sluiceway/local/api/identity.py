"""Who the token is: user, memberships, accounts."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local.api import envelope
from sluiceway.local.api.config import AUTHOR, ApiConfig, token_id
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.store import Doc

_CREATED = "2026-01-01T00:00:00.000000Z"


async def verify(call: Call) -> Response:
    return envelope.ok({"id": token_id(call.config.token), "status": "active"})


async def user(call: Call) -> Response:
    return envelope.ok(
        {"id": token_id(call.config.token), "email": AUTHOR, "first_name": "Local", "last_name": "Stage"}
    )


async def memberships(call: Call) -> Response:
    member = {"id": call.config.account_id, "status": "accepted", "account": _account(call.config), "roles": []}
    return call.paged([member])


async def accounts(call: Call) -> Response:
    return call.paged([_account(call.config)])


async def account(call: Call) -> Response:
    return envelope.ok(_account(call.config))


def _account(config: ApiConfig) -> Doc:
    return {"id": config.account_id, "name": config.account_name, "type": "standard", "created_on": _CREATED}


ROUTES: Table = (
    ("GET", "/user", user),
    ("GET", "/user/tokens/verify", verify),
    ("GET", f"{ACCOUNT}/tokens/verify", verify),
    ("GET", "/memberships", memberships),
    ("GET", "/accounts", accounts),
    ("GET", ACCOUNT, account),
)
