"""An S3 server over TLS on loopback that is as strict as R2: no AWS checksums, parts of one size."""

from __future__ import annotations

import hashlib
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

CERTIFICATE = Path(__file__).with_name("loopback-for-tests.pem")
BUCKET = "models"


@dataclass
class Stored:
    data: bytes
    metadata: dict[str, str]
    content_type: str


@dataclass
class OpenUpload:
    key: str
    metadata: dict[str, str]
    content_type: str
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass
class FakeS3:
    """What the server holds and what it saw.

    ``on_part`` runs before each part; the part ``fail_part`` is refused, which sets ``settled``.
    ``cut_off``: after so many bytes of a download the connection ends.
    """

    url: str = ""
    objects: dict[str, Stored] = field(default_factory=dict)
    uploads: dict[str, OpenUpload] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    fail_part: int | None = None
    lie_about_size: bool = False
    forget_metadata: bool = False
    can_list: bool = True
    cut_off: int | None = None
    on_part: Any = None
    made: int = 0
    settled: threading.Event = field(default_factory=threading.Event)

    def reset(self) -> None:
        self.__init__(self.url)  # type: ignore[misc]

    def of(self, method: str) -> list[str]:
        return [path for seen, path, _ in self.requests if seen == method]


class _Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FakeS3

    def log_message(self, format: str, *args: object) -> None:
        return

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "content-length" not in (headers or {}):
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _run(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.state.requests.append((self.command, self.path, headers))
        try:
            if bucket != BUCKET:
                raise _Refused(404, "NoSuchBucket")
            if self.command == "PUT":
                _check_put(headers, body)
            getattr(self, f"_{self.command.lower()}")(key, query, body, headers)
        except _Refused as refused:
            self.close_connection = True
            text = f"<Error><Code>{refused.code}</Code><Message>refused</Message></Error>"
            with suppress(OSError):  # the client may have been killed
                self._answer(refused.status, text.encode())

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _run

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", "0")))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def _put(self, key: str, query: dict[str, str], body: bytes, headers: dict[str, str]) -> None:
        if "partNumber" in query:
            number = int(query["partNumber"])
            if self.state.on_part:
                self.state.on_part(number)
            if number == self.state.fail_part:
                self.state.settled.set()
                raise _Refused(400, "InvalidRequest")
            self._upload(query).parts[number] = body
        else:
            if headers.get("if-none-match") == "*" and key in self.state.objects:
                raise _Refused(412, "PreconditionFailed")
            self.state.objects[key] = Stored(body, _metadata(headers), headers.get("content-type", ""))
        self._answer(200, headers={"etag": _tag(body)})

    def _post(self, key: str, query: dict[str, str], body: bytes, headers: dict[str, str]) -> None:
        if "uploads" in query:
            self.state.made += 1
            name = f"upload-{self.state.made}"
            self.state.uploads[name] = OpenUpload(key, _metadata(headers), headers.get("content-type", ""))
            self._answer(200, f"<R><Bucket>{BUCKET}</Bucket><Key>{key}</Key><UploadId>{name}</UploadId></R>".encode())
            return
        upload = self._upload(query)
        wanted = [
            int(element.text or "0") for element in ElementTree.fromstring(body).iter() if _is(element, "PartNumber")
        ]
        sizes = [len(upload.parts[number]) for number in wanted]
        if len(set(sizes[:-1])) > 1 or (len(sizes) > 1 and sizes[-1] > sizes[0]):
            raise _Refused(400, "InvalidPart")
        data = b"".join(upload.parts[number] for number in wanted)
        self.state.objects[key] = Stored(data, upload.metadata, upload.content_type)
        del self.state.uploads[query["uploadId"]]
        self._answer(200, f"<R><Bucket>{BUCKET}</Bucket><Key>{key}</Key><ETag>{_tag(data)}</ETag></R>".encode())

    def _get(self, key: str, query: dict[str, str], body: bytes, headers: dict[str, str]) -> None:
        if "list-type" in query:
            self._list(query.get("prefix", ""))
            return
        if "uploads" not in query and "uploadId" not in query:
            self._object(key, headers)
            return
        if not self.state.can_list:
            raise _Refused(501, "NotImplemented")
        if "uploads" in query:
            listed = "".join(
                f"<Upload><Key>{upload.key}</Key><UploadId>{name}</UploadId></Upload>"
                for name, upload in self.state.uploads.items()
                if upload.key.startswith(query.get("prefix", ""))
            )
            self._answer(200, f"<R><IsTruncated>false</IsTruncated>{listed}</R>".encode())
        else:
            listed = "".join(
                f"<Part><PartNumber>{number}</PartNumber><Size>{len(data)}</Size><ETag>{_tag(data)}</ETag></Part>"
                for number, data in sorted(self._upload(query).parts.items())
            )
            self._answer(200, f"<R><IsTruncated>false</IsTruncated>{listed}</R>".encode())

    def _list(self, prefix: str) -> None:
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(stored.data)}</Size>"
            f"<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>"
            for key, stored in sorted(self.state.objects.items())
            if key.startswith(prefix)
        )
        self._answer(200, f"<R><IsTruncated>false</IsTruncated>{rows}</R>".encode())

    def _object(self, key: str, headers: dict[str, str]) -> None:
        stored = self.state.objects.get(key)
        if stored is None:
            raise _Refused(404, "NoSuchKey")
        first = int(headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        data = stored.data[first:]
        if self.state.cut_off is not None and len(data) > self.state.cut_off:
            self._answer(206, data[: self.state.cut_off], {"content-length": str(len(data))})
            self.close_connection = True
            return
        self._answer(206 if "range" in headers else 200, data)

    def _head(self, key: str, query: dict[str, str], body: bytes, headers: dict[str, str]) -> None:
        stored = self.state.objects.get(key)
        if stored is None:
            raise _Refused(404, "NoSuchKey")
        length = len(stored.data) - (1 if self.state.lie_about_size else 0)
        metadata = {} if self.state.forget_metadata else stored.metadata
        marks = {f"x-amz-meta-{name}": value for name, value in metadata.items()}
        self._answer(200, headers={"content-length": str(length), "etag": _tag(stored.data), **marks})

    def _delete(self, key: str, query: dict[str, str], body: bytes, headers: dict[str, str]) -> None:
        if "uploadId" in query:
            self._upload(query)
            del self.state.uploads[query["uploadId"]]
        else:
            self.state.objects.pop(key, None)
        self._answer(204)

    def _upload(self, query: dict[str, str]) -> OpenUpload:
        if query["uploadId"] not in self.state.uploads:
            raise _Refused(404, "NoSuchUpload")
        return self.state.uploads[query["uploadId"]]


def _check_put(headers: dict[str, str], body: bytes) -> None:
    if "aws-chunked" in headers.get("content-encoding", ""):
        raise _Refused(401, "Unauthorized")
    if headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        raise _Refused(401, "Unauthorized")
    if any(name.startswith(("x-amz-checksum-crc", "x-amz-sdk-checksum", "x-amz-trailer")) for name in headers):
        raise _Refused(501, "NotImplemented")
    sent = headers.get("content-md5")
    if sent and sent != b64encode(hashlib.md5(body).digest()).decode():
        raise _Refused(400, "BadDigest")


def _metadata(headers: dict[str, str]) -> dict[str, str]:
    mark = "x-amz-meta-"
    return {name.removeprefix(mark): value for name, value in headers.items() if name.startswith(mark)}


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def _is(element: ElementTree.Element, name: str) -> bool:
    return element.tag.rpartition("}")[2] == name


@contextmanager
def serve() -> Iterator[FakeS3]:
    """A running server; its state is the value."""
    state = FakeS3()
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    state.url = f"https://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
