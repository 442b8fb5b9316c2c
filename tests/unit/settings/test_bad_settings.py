"""What a person may write wrong, and the one line that they get. The path is the file's, the words are ours."""

from __future__ import annotations

import pytest

from sluiceway import settings
from sluiceway.errors import UserError
from tests.unit.settings.conftest import ZONE, Stack

AT = "stacks/Pulumi.dev.yaml: config.sluiceway:"
SPLIT = "sluiceway:models: {chat: {split: [%s]}}"

WRONG_VALUES: list[tuple[list[str], str, str]] = [
    (
        [SPLIT % "{version: chat@1, weight: 90}, {version: chat@2, weight: 9}"],
        f"{AT}models.chat.split: weights must sum to 100, got 99",
        "raise one by 1",
    ),
    (
        [SPLIT % ""],
        f"{AT}models.chat.split: a split names at least one version",
        "give its stable version the weight 100",
    ),
    (
        [SPLIT % "{version: chat@1, weight: 50}, {version: chat@1, weight: 50}"],
        f"{AT}models.chat.split: a version stands once in a split, got 'chat@1'",
        "add its weights up in one entry",
    ),
    (
        [SPLIT % "{version: chat@1, weight: 60}, {version: chat@1, weight: 40}"],
        f"{AT}models.chat.split: a version stands once in a split, got 'chat@1'",
        "add its weights up in one entry",
    ),
    (
        [SPLIT % "{version: chat@1, weight: 101}"],
        f"{AT}models.chat.split[0].weight: must be at most 100, got 101",
        "write a whole number from 0 to 100",
    ),
    (
        [SPLIT % "{version: chat@1, weight: 99.5}"],
        f"{AT}models.chat.split[0].weight: must be a whole number, got 99.5",
        "write a whole number from 0 to 100",
    ),
    (
        [SPLIT % '{version: chat@1, weight: "100"}'],
        f"{AT}models.chat.split[0].weight: must be a whole number, got '100'",
        "write the number without quotes",
    ),
    (
        [SPLIT % "{version: chat@1, weight: true}"],
        f"{AT}models.chat.split[0].weight: must be a whole number, got True",
        "write a whole number from 0 to 100",
    ),
    (
        [SPLIT % "{version: chat, weight: 100}"],
        f"{AT}models.chat.split[0].version: a model version is written like chat@3, got 'chat'",
        "write the model's name, an @ and the version's number, which begins at 1 and has no leading zero",
    ),
    (
        [SPLIT % "{version: intent@1, weight: 100}"],
        f"{AT}models.chat.split[0].version: a split of chat names versions of chat, got 'intent@1'",
        "write chat@1, or give intent a split of its own beside chat",
    ),
    (
        [SPLIT % "{version: chat@1}"],
        f"{AT}models.chat.split[0].weight: is required",
        "add weight: a whole number from 0 to 100",
    ),
    (
        [SPLIT % "{version: chat@1, wieght: 100, weight: 100}"],
        f"{AT}models.chat.split[0]: unknown key 'wieght'",
        "did you mean 'weight'?",
    ),
    (
        ["sluiceway:models: {Chat: {split: [{version: chat@1, weight: 100}]}}"],
        f"{AT}models.Chat: a model's name is 1 to 48 lower-case letters, digits and inner hyphens, "
        "first a letter, got 'Chat'",
        "write it like chat or chat-eu",
    ),
    (
        ["sluiceway:models: [chat]"],
        f"{AT}models: must be a mapping, got ['chat']",
        "write a mapping, a name and its value on each line",
    ),
    (
        ["sluiceway:workers_dev: maybe"],
        f"{AT}workers_dev: must be true or false, got 'maybe'",
        "write true or false, without quotes",
    ),
    (
        ["sluiceway:auth: {required: 'true'}"],
        f"{AT}auth.required: must be true or false, got 'true'",
        "write true or false, without quotes",
    ),
    (
        ["sluiceway:bucket: {location: mars}"],
        f"{AT}bucket.location: must be one of apac, eeur, enam, weur, wnam, oc, got 'mars'",
        "leave it out, and Cloudflare chooses",
    ),
    (
        ["sluiceway:bucket: {jurisdiction: uk}"],
        f"{AT}bucket.jurisdiction: must be one of default, eu, fedramp, us, got 'uk'",
        "leave it out, and Cloudflare chooses",
    ),
    (
        ["sluiceway:bucket: {retian: true}"],
        f"{AT}bucket: unknown key 'retian'",
        "did you mean 'retain'?",
    ),
    (
        ["sluiceway:queue: {xyz: 1}"],
        f"{AT}queue: unknown key 'xyz'",
        "known keys: retention, delivery_delay",
    ),
    (
        ["sluiceway:rate_limit: {period: 30}"],
        f"{AT}rate_limit.period: must be one of 10, 60, got 30",
        "write one of 10, 60",
    ),
    (
        ["sluiceway:rate_limit: {requests: 0}"],
        f"{AT}rate_limit.requests: must be at least 1, got 0",
        "write a whole number from 1 to 1000000",
    ),
    (
        ["sluiceway:cache: {ttl: 30}"],
        f"{AT}cache.ttl: must be at least 60, got 30",
        "write a whole number from 60 to 2592000",
    ),
    (
        ['sluiceway:resilience: {default_answer: ""}'],
        f"{AT}resilience.default_answer: must not be empty, got ''",
        "write text",
    ),
    (
        ["sluiceway:auth: {access: {team_domain: https://a.cloudflareaccess.com, audience: []}}"],
        f"{AT}auth.access.audience: must not be empty, got []",
        "write a list; each entry is text",
    ),
    (
        [f"sluiceway:guard: {{blocklist: [{'long' * 60}]}}"],
        f"{AT}guard.blocklist[0]: must have at most 200 characters, got '{'long' * 29}l...'",
        "shorten it",
    ),
    (
        ["sluiceway:gateway: {cache_ttl: 59}"],
        f"{AT}gateway.cache_ttl: must be 0 (no cache) or 60 to 2592000 seconds, got 59",
        "the nearest is 60",
    ),
    (
        ["sluiceway:gateway: {technique: moving}"],
        f"{AT}gateway.technique: must be one of fixed, sliding, got 'moving'",
        "write one of fixed, sliding",
    ),
    (
        ["sluiceway:observability: {head_sampling_rate: 2}"],
        f"{AT}observability.head_sampling_rate: must be at most 1, got 2",
        "write a number from 0 to 1",
    ),
    (
        ["sluiceway:cors: {origins: [https://a.example/]}"],
        f"{AT}cors.origins[0]: an origin is scheme and host in lower case, without a path, got 'https://a.example/'",
        "write it like https://app.example.com, or * for any",
    ),
    (
        ["sluiceway:secrets: [API_KEY, api-key]"],
        f"{AT}secrets[1]: a secret's name is capitals, digits and underscores, got 'api-key'",
        "write it as the Worker reads it in env, like UPSTREAM_KEY",
    ),
    (
        ["sluiceway:secrets: [API_KEY, ROUTES]", "sluiceway:routes: {secure: v1}"],
        f"{AT}secrets: a secret has the name of a setting, got 'ROUTES'",
        "its value would take the place of sluiceway:routes: give it another name, like ROUTES_KEY",
    ),
    (
        ["sluiceway:secrets: [OTHER]"],
        f"{AT}secrets: API_KEY is missing, got ['OTHER']",
        "the gateway's own key is always among the secrets",
    ),
    (
        ["sluiceway:crons: ['0 16 * * 0']"],
        f"{AT}crons[0]: the day of the week of a cron is 1 to 7 or SUN to SAT, not '0', got '0 16 * * 0'",
        "Cloudflare counts days 1 to 7 from Sunday: write SUN for Sunday",
    ),
    (
        ["sluiceway:crons: ['0 9 * * 1-5']"],
        f"{AT}crons[0]: days of the week are written by name, since numbers differ between crons, got '0 9 * * 1-5'",
        "Cloudflare reads 1-5 as SUN-THU, other crons as MON-FRI: write the one you mean",
    ),
    (
        ["sluiceway:crons: ['* * * * *', '* * * * *']"],
        f"{AT}crons: a value stands twice, got '* * * * *'",
        "take one of them out",
    ),
    (
        ["sluiceway:crons: '* * * * *'"],
        f"{AT}crons: must be a list, got '* * * * *'",
        'put it in brackets: ["* * * * *"]',
    ),
    (
        [f"sluiceway:zone: {ZONE}", "sluiceway:custom_domains: [api.example.com/*]"],
        f"{AT}custom_domains[0]: a host name has no path, got 'api.example.com/*'",
        "write api.example.com; a pattern belongs in routes",
    ),
    (
        [f"sluiceway:zone: {ZONE}", "sluiceway:routes: [api.example.org/*]"],
        f"{AT}routes[0]: is outside the zone example.com, got 'api.example.org/*'",
        "name a host of example.com, or write the zone of api.example.org into sluiceway:zone",
    ),
    (
        ["sluiceway:routes: [api.example.com/*]"],
        f"{AT}routes: needs a zone",
        "add sluiceway:zone with the zone's name and id",
    ),
    (
        ["sluiceway:zone: {name: example.com}"],
        f"{AT}zone.id: is required",
        "add id: the zone's id, which the dashboard shows on the zone's overview",
    ),
    (
        ["sluiceway:zone: {name: example.com, id: 12}"],
        f"{AT}zone.id: must be text, got 12",
        "put it in quotes, or YAML reads it as a number",
    ),
    (
        [f"sluiceway:zone: {ZONE}", "sluiceway:zone_rate_limits: [{name: a, path: /v1, requests: 9, period: 60}]"],
        f"{AT}zone_rate_limits: limits hosts of the zone, and none is served",
        "add a route or a custom domain, or use sluiceway:rate_limit, which holds on workers.dev too",
    ),
    (
        ["sluiceway:worker_name: gateway-production"],
        f"{AT}worker_name: a Worker's name holds its own stage's name, not production, got 'gateway-production'",
        "stages may share an account, so one must not take another's Worker: e.g. gateway-dev",
    ),
    (
        ["sluiceway:worker_name: Gateway_dev"],
        f"{AT}worker_name: a Worker's name is 1 to 54 lower-case letters, digits and inner hyphens, got 'Gateway_dev'",
        "write it like gateway-dev, with the stage's own name in it",
    ),
]


@pytest.mark.parametrize(("lines", "message", "hint"), WRONG_VALUES, ids=[case[1][len(AT) :] for case in WRONG_VALUES])
def test_a_wrong_value_is_told_with_its_path(stack: Stack, lines: list[str], message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(*lines), "dev")
    assert (str(caught.value), caught.value.hint, caught.value.exit_code) == (message, hint, 2)


@pytest.mark.parametrize(
    ("account", "message", "hint"),
    [
        (
            '"12"',
            ": config.sluiceway:account_id: an account id is 32 lower-case hex digits, got '12'",
            "write the account's id, which stands in the dashboard's address: dash.cloudflare.com/<account id>",
        ),
        (
            "12345678901234567890123456789012",
            ": config.sluiceway:account_id: must be text, got 12345678901234567890123456789012",
            "put it in quotes, or YAML reads it as a number",
        ),
        (
            "00000000000000000000000000000012",
            ":2:25: not valid YAML: readers of YAML disagree on what 00000000000000000000000000000012 means",
            "put it in quotes when text is meant; booleans are true and false, numbers have no leading zero",
        ),
        (
            '"10ca1000000000000000000000000000"',
            ": config.sluiceway:account_id: the local account belongs to the stage local and no other, "
            "got '10ca1000000000000000000000000000'",
            "stage local has 10ca1000000000000000000000000000, every other stage an account of Cloudflare's",
        ),
    ],
)
def test_wr_02_a_wrong_account_is_refused(stack: Stack, account: str, message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(account=account), "dev")
    assert (str(caught.value), caught.value.hint) == (f"stacks/Pulumi.dev.yaml{message}", hint)


UNKNOWN_KEYS: list[tuple[list[str], str, str | None]] = [
    (
        ["sluiceway:corns: []"],
        "stacks/Pulumi.dev.yaml: config: unknown setting sluiceway:corns",
        "did you mean sluiceway:cors?",
    ),
    (
        ["sluiceway:workers-dev: true"],
        "stacks/Pulumi.dev.yaml: config: unknown setting sluiceway:workers-dev",
        "did you mean sluiceway:workers_dev?",
    ),
    (["routes: []"], "stacks/Pulumi.dev.yaml: config: unknown key 'routes'", "write sluiceway:routes"),
    (
        ["sluiceway:stage: production"],
        "stacks/Pulumi.dev.yaml: config: unknown setting sluiceway:stage",
        None,
    ),
]


@pytest.mark.parametrize(("lines", "message", "hint"), UNKNOWN_KEYS)
def test_an_unknown_setting_is_refused_and_the_nearest_named(
    stack: Stack, lines: list[str], message: str, hint: str | None
) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(*lines), "dev")
    assert str(caught.value) == message
    if hint:
        assert caught.value.hint == hint


def test_an_unknown_key_beside_config_is_refused(stack: Stack) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(top="encryptionsal: x\n"), "dev")
    assert str(caught.value) == "stacks/Pulumi.dev.yaml: unknown key 'encryptionsal'"
    assert caught.value.hint == "did you mean 'encryptionsalt'?"


def test_a_fault_in_a_default_is_told_where_it_stands(stack: Stack) -> None:
    workspace = stack()
    project = workspace.root / "Pulumi.yaml"
    project.write_text(project.read_text().replace("weight: 90", "weight: 91"))
    with pytest.raises(UserError) as caught:
        settings.load(workspace, "dev")
    assert str(caught.value) == "Pulumi.yaml: config.models.chat.split: weights must sum to 100, got 101"
