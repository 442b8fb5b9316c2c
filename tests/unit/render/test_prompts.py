"""A prompt reaches the Worker as it was written, through a template and through config.json."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from sluiceway.render.bundle import bundle
from sluiceway.render.files import write_file
from sluiceway.render.templates import Templates
from sluiceway.workspace import Workspace
from tests.node import NODE

WORKSPACE = Workspace.find(Path(__file__).parent)

PROMPT = 'He said "hi" `id` ${env.API_KEY} {{ 7*7 }} </script> \u2028 line-separator 🦊 \x7f\nand a final backslash \\'

TEMPLATE = """import config from "./config.json";
const prompt: string = {{ prompt | json }};
const nested: { readonly list: readonly string[] } = {{ nested | json }};
export default { fetch: (): Response => Response.json([prompt, nested.list[0], JSON.parse(config).prompt]) };
"""

RUN = """import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";
const [folder] = process.argv.slice(1);
const module = (type, path) => ({ type, path, contents: readFileSync(`${folder}/${path}`, "utf8") });
const mf = new Miniflare({
  modules: [module("ESModule", "index.js"), module("Text", "config.json")],
  compatibilityDate: "2026-07-01",
});
process.stdout.write(await (await mf.dispatchFetch("http://localhost/")).text());
await mf.dispose();
"""

TSCONFIG = {
    "compilerOptions": {"target": "es2024", "module": "esnext", "moduleResolution": "bundler", "strict": True}
    | {"lib": ["es2024"], "types": [str(WORKSPACE.node_modules / "@cloudflare/workers-types")], "noEmit": True}
    | {"resolveJsonModule": False},
    "include": ["."],
}


def test_wr_08_a_prompt_type_checks_and_comes_back_from_workerd_letter_by_letter(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "entry.ts.j2").write_text(TEMPLATE, encoding="utf-8")
    source, dist = tmp_path / "src", tmp_path / "dist"
    variables = {"prompt": PROMPT, "nested": {"list": [PROMPT]}}
    write_file(source / "entry.ts", Templates(tmp_path / "templates").render("entry.ts.j2", variables))
    write_file(source / "env.d.ts", 'declare module "*/config.json" { const text: string; export default text; }')
    write_file(source / "tsconfig.json", json.dumps(TSCONFIG))
    write_file(dist / "config.json", json.dumps({"prompt": PROMPT}, ensure_ascii=False))
    bundle(source / "entry.ts", dist, WORKSPACE.node_modules)
    assert run("node_modules/typescript/bin/tsc", "-p", str(source)) == ""
    assert json.loads(run("--input-type=module", "-e", RUN, str(dist))) == [PROMPT, PROMPT, PROMPT]


def run(*arguments: str) -> str:
    done = subprocess.run(
        [NODE, *arguments], cwd=WORKSPACE.root, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return str(done.stdout)
