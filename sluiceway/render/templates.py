"""The template environment: strict, and unable to print a value that is not a literal.

Three guards, since each sees what the others can't: the template's own syntax is checked when it
is loaded (every ``{{ }}`` must end in a filter that makes a literal, so the fault names the
variable and the line); values are searched for Pulumi Outputs before rendering; the finished text
is searched again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jinja2 import (
    BaseLoader,
    Environment,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    nodes,
)
from jinja2.filters import FILTERS

from sluiceway.errors import SluicewayError
from sluiceway.render.literals import Literal, to_identifier, to_json, to_toml
from sluiceway.render.outputs import refuse_outputs, refuse_spellings

LITERAL_FILTERS: Mapping[str, Callable[[object], Literal]] = {
    "json": to_json,
    "toml": to_toml,
    "identifier": to_identifier,
}

# Templates choose which module is imported and print values; nothing in them assembles templates.
_REFUSED = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block, nodes.Macro, nodes.CallBlock)


class _FolderLoader(BaseLoader):
    """Reads templates by plain name from one folder, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        path = (self.folder / template).resolve()
        if path.parent != self.folder or not path.is_file():
            raise TemplateNotFound(template)
        # Line ends are made one kind, so that a checkout on another system renders the same bytes.
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        return text, template, lambda: False


class Templates:
    """The templates of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.name
        self._environment = Environment(
            loader=_FolderLoader(folder),
            undefined=StrictUndefined,
            autoescape=False,  # what is printed is a literal already; HTML's rules would corrupt it
            finalize=_only_literals,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters = {**FILTERS, **{name: _defined(make) for name, make in LITERAL_FILTERS.items()}}

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """The text of template ``name``.

        Raises SluicewayError for a name outside the folder, a variable that is missing or is a
        Pulumi Output, and a value printed without a literal filter.
        """
        shown = f"{self._folder}/{name}"
        refuse_outputs(variables, shown)
        try:
            self._check(name)
            text = self._environment.get_template(name).render(variables)
        except TemplateNotFound as fault:
            raise SluicewayError("no such template in the templates folder", path=shown) from fault
        except (UndefinedError, TemplateSyntaxError) as fault:
            raise SluicewayError(f"{fault.message}", path=shown) from fault
        refuse_spellings(text, shown)
        return text

    def _check(self, name: str) -> None:
        loader = self._environment.loader
        assert loader is not None
        source = loader.get_source(self._environment, name)[0]
        tree = self._environment.parse(source, name)
        for refused in tree.find_all(_REFUSED):
            raise SluicewayError(
                f"{type(refused).__name__} is not for templates here", path=f"{self._folder}/{name}:{refused.lineno}"
            )
        for output in tree.find_all(nodes.Output):
            for node in output.nodes:
                if not isinstance(node, nodes.TemplateData) and not _makes_literal(node):
                    raise SluicewayError(
                        f"{_name_of(node)!r} is printed without a filter",
                        path=f"{self._folder}/{name}:{node.lineno}",
                        hint=f"end it with one of: {', '.join(f'| {f}' for f in LITERAL_FILTERS)}",
                    )


def _only_literals(value: object) -> object:
    if not isinstance(value, Literal):
        raise SluicewayError(f"a {type(value).__name__} is printed without a filter that makes it a literal")
    return value


def _defined(make: Callable[[object], Literal]) -> Callable[[object], Literal]:
    """A missing variable reaches a filter as an object; using it in any way raises Jinja's own words."""

    def checked(value: object) -> Literal:
        if isinstance(value, Undefined):
            str(value)
        return make(value)

    return checked


def _makes_literal(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Filter) and node.name in LITERAL_FILTERS


def _name_of(node: nodes.Node) -> str:
    """The expression as a person would find it in the template: ``kv.id``."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        return f"{_name_of(node.node)}.{node.attr}"
    if isinstance(node, nodes.Filter) and node.node is not None:
        return f"{_name_of(node.node)} | {node.name}"
    return type(node).__name__.lower()
