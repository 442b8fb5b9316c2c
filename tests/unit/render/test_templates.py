"""Templates print literals or nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pulumi
import pytest

from sluiceway.errors import SluicewayError
from sluiceway.render.templates import Templates

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "templates"
    made.mkdir()
    return made


def render(folder: Path, text: str, **variables: object) -> str:
    (folder / "t.j2").write_text(text, encoding="utf-8")
    return Templates(folder).render("t.j2", variables)


def test_values_are_printed_through_a_filter(folder: Path) -> None:
    assert render(folder, "a = {{ a | json }};\nb = {{ b | toml }}\n", a="<é>", b="x\ny") == (
        'a = "\\u003cé>";\nb = "x\\ny"\n'
    )


@pytest.mark.parametrize(
    "text", ["{{ kv.id }}", "{{ kv.id | upper }}", "{{ 'x' ~ kv.id }}", "{% if 1 %}{{ kv.id }}{% endif %}"]
)
def test_a_value_without_a_literal_filter_is_refused_with_its_line(folder: Path, text: str) -> None:
    with pytest.raises(SluicewayError, match="without a filter") as caught:
        render(folder, f"first line\n{text}", kv={"id": "1"})
    assert caught.value.path == "templates/t.j2:2"


def test_the_refused_value_is_named(folder: Path) -> None:
    with pytest.raises(SluicewayError, match=r"'kv\.id' is printed"):
        render(folder, "{{ kv.id }}", kv={"id": "1"})


@pytest.mark.parametrize(
    "text",
    ["{% include 'u.j2' %}", "{% extends 'u.j2' %}", "{% macro m() %}x{% endmacro %}", "{% from 'u.j2' import a %}"],
)
def test_templates_do_not_assemble_templates(folder: Path, text: str) -> None:
    (folder / "u.j2").write_text("u", encoding="utf-8")
    with pytest.raises(SluicewayError, match="not for templates here"):
        render(folder, text)


def test_a_missing_variable_is_named(folder: Path) -> None:
    with pytest.raises(SluicewayError, match="'release' is undefined"):
        render(folder, "{{ release | json }}")


@pytest.mark.parametrize("name", ["../secret.j2", "/etc/hostname", "missing.j2", "sub/t.j2"])
def test_only_files_of_the_folder_are_templates(folder: Path, name: str) -> None:
    (folder.parent / "secret.j2").write_text("secret", encoding="utf-8")
    with pytest.raises(SluicewayError, match="no such template"):
        Templates(folder).render(name, {})


def test_a_link_out_of_the_folder_is_no_template(folder: Path) -> None:
    (folder.parent / "secret.j2").write_text("secret", encoding="utf-8")
    (folder / "link.j2").symlink_to(folder.parent / "secret.j2")
    with pytest.raises(SluicewayError, match="no such template"):
        Templates(folder).render("link.j2", {})


def test_wr_08_a_value_is_never_treated_as_a_template(folder: Path) -> None:
    assert render(folder, "{{ prompt | json }}", prompt="{{ 7*7 }} {% raw %}") == '"{{ 7*7 }} {% raw %}"'


def test_tf_02_crlf_templates_render_the_same_bytes(folder: Path) -> None:
    lines = ["// a", "{% for x in xs %}", "{{ x | json }}", "{% endfor %}", "", ""]
    unix = render(folder, "\n".join(lines), xs=["1", "2"])
    (folder / "t.j2").write_bytes("\r\n".join(lines).encode())
    assert Templates(folder).render("t.j2", {"xs": ["1", "2"]}) == unix


def test_wr_01_the_projects_own_wrangler_template_gives_every_value_back() -> None:
    values = ['tok"en', "C:\\data\\new", "two\nlines", "🦊 𠮷田", "a\x7fb", "\\u0041", ""]
    document = {"vars": {f"key.{n}é": value for n, value in enumerate(values)}, "name": "w"}
    rendered = Templates(ROOT / "templates").render("wrangler.toml.j2", {"document": document})
    assert tomllib.loads(rendered) == document


def test_pu_01_an_output_that_is_an_attribute_is_refused_and_named(folder: Path, output: pulumi.Output[str]) -> None:
    with pytest.raises(SluicewayError, match=r"the variable 'kv\.id' is a Pulumi Output"):
        render(folder, "kv_id = {{ kv.id | json }}", kv=SimpleNamespace(name="cache", id=output))


@pytest.mark.parametrize("nest", [lambda o: o, lambda o: {"id": o}, lambda o: [0, {"id": o}]])
def test_pu_01_an_output_is_refused_and_named(folder: Path, output: pulumi.Output[str], nest: object) -> None:
    assert callable(nest)
    with pytest.raises(SluicewayError, match="'kv") as caught:
        render(folder, "{{ kv | json }}", kv=nest(output))
    assert "Pulumi Output" in str(caught.value)


@pytest.mark.parametrize(
    "spelling",
    ["Calling __str__ on an Output[T] is not supported.\n\nTo get", "<pulumi.output.Output object at 0x7f>"],
)
def test_pu_01_an_output_that_was_formatted_into_text_is_refused_and_named(folder: Path, spelling: str) -> None:
    with pytest.raises(SluicewayError, match=r"'kv\.ids\[1\]' is a Pulumi Output"):
        render(folder, "{{ kv | json }}", kv={"ids": ["1", f"id-{spelling}"]})


def test_pu_01_an_output_in_the_template_itself_is_found(folder: Path) -> None:
    with pytest.raises(SluicewayError, match="line 2 of the rendered text"):
        render(folder, "one\n<pulumi.output.Output object at 0x7f>\n")
