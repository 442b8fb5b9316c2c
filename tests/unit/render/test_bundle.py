"""The bundle: reproducible, clear about faults, and small enough to be taken."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.render.bundle import bundle, check_size, find_esbuild, gzip_size
from sluiceway.workspace import Workspace

NODE_MODULES = Workspace.find(Path(__file__).parent).node_modules

ENTRY = """import config from "./config.json";
import { DurableObject } from "cloudflare:workers";
import { greeting } from "../lib/greeting.ts";
export class Counter extends DurableObject { count: number = 0 }
export default { fetch: (): Response => new Response(greeting + config) };
"""


def checkout(root: Path, entry: str = ENTRY) -> Path:
    (root / "src").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "lib" / "greeting.ts").write_text('export const greeting: string = "日本 \\u2028";\n', encoding="utf-8")
    (root / "src" / "entry.ts").write_text(entry, encoding="utf-8", newline="")
    return root / "src" / "entry.ts"


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_source_gives_the_same_bytes_in_another_folder(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "a much" / "deeper 'folder"
    first = bundle(checkout(one), one / "dist", NODE_MODULES)
    second = bundle(checkout(two), two / "dist", NODE_MODULES)
    assert first.digest == second.digest
    assert files_of(one / "dist") == files_of(two / "dist")
    assert not any(str(tmp_path).encode() in content for content in files_of(one / "dist").values())


def test_a_tsconfig_above_the_checkout_changes_nothing(tmp_path: Path) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    checkout(plain), checkout(other)
    (other / "tsconfig.json").write_text('{"compilerOptions": {"target": "es5", "useDefineForClassFields": false}}')
    digests = {bundle(root / "src" / "entry.ts", root / "dist", NODE_MODULES).digest for root in (plain, other)}
    assert len(digests) == 1


def test_tf_02_crlf_sources_give_the_same_bundle(tmp_path: Path) -> None:
    unix, dos = tmp_path / "unix", tmp_path / "dos"
    checkout(unix), checkout(dos, ENTRY.replace("\n", "\r\n") + "\r\n\r\n")
    digests = {bundle(root / "src" / "entry.ts", root / "dist", NODE_MODULES).digest for root in (unix, dos)}
    assert len(digests) == 1


def test_config_stays_a_module_of_its_own(tmp_path: Path) -> None:
    made = bundle(checkout(tmp_path / "c"), tmp_path / "c" / "dist", NODE_MODULES)
    assert b'from"./config.json"' in made.code
    assert b'from"cloudflare:workers"' in made.code


def test_bundling_again_leaves_the_files_alone(tmp_path: Path) -> None:
    entry, dist = checkout(tmp_path / "c"), tmp_path / "c" / "dist"
    before = bundle(entry, dist, NODE_MODULES).path.stat()
    after = bundle(entry, dist, NODE_MODULES).path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_syntax_error_says_where_and_leaves_the_last_bundle(tmp_path: Path) -> None:
    entry, dist = checkout(tmp_path / "c"), tmp_path / "c" / "dist"
    good = bundle(entry, dist, NODE_MODULES).code
    entry.write_text("const a = 1;\nlet x = ;\n", encoding="utf-8")
    with pytest.raises(SluicewayError, match="can't be bundled") as caught:
        bundle(entry, dist, NODE_MODULES)
    assert caught.value.path == os.path.relpath(f"{entry}:2:8", NODE_MODULES.parent)
    assert (dist / "index.js").read_bytes() == good
    assert sorted(path.name for path in dist.parent.iterdir()) == ["dist", "lib", "src"]


def test_an_import_that_is_not_there_says_which(tmp_path: Path) -> None:
    entry = checkout(tmp_path / "c", 'import { x } from "no-such-package";\nexport default x;\n')
    with pytest.raises(SluicewayError, match="no-such-package"):
        bundle(entry, tmp_path / "c" / "dist", NODE_MODULES)


def test_missing_packages_are_told_with_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="esbuild is not installed") as caught:
        find_esbuild(tmp_path)
    assert caught.value.hint and "npm ci" in caught.value.hint


def test_a_worker_beyond_cloudflares_limit_is_refused() -> None:
    noise = random.Random(1).randbytes(200_000)
    size = gzip_size(noise)
    assert size > 200_000
    check_size(size, limit=size)
    with pytest.raises(SluicewayError, match="gzipped"):
        check_size(size, limit=size - 1)
