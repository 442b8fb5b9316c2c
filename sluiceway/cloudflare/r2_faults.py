"""What R2's S3 API refuses, in words that say what to do. Nothing here quotes a request: it may hold a signature."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from sluiceway.errors import SluicewayError

_NO_BUCKET: Final = (
    "`sluiceway up STAGE` makes the stage's bucket: bring the stage up first. One with a jurisdiction is found only at "
    "that jurisdiction's endpoint: compare sluiceway:bucket.jurisdiction with the bucket"
)
_HINTS: Final = {
    "NoSuchBucket": _NO_BUCKET,
    # Where R2 says no more than the status: of an object that is gone the callers know, so this is the bucket.
    "404": _NO_BUCKET,
    "AccessDenied": "the token needs the permission Workers R2 Storage: Edit",
    "Unauthorized": "the token needs the permission Workers R2 Storage: Edit",
    # The answer to a HEAD has no body, so its status is all there is.
    "403": "the token needs the permission Workers R2 Storage: Edit, and its id and value must belong together",
    "SignatureDoesNotMatch": "the token's value and its id don't belong together, or this machine's clock is wrong",
    "InvalidAccessKeyId": "the access key id is the token's id, and the token must not be rolled or deleted",
    "RequestTimeTooSkewed": "set this machine's clock",
}
_GONE: Final = {"404", "NoSuchKey", "NotFound"}


def code(error: ClientError) -> str:
    """The error code of S3, or the HTTP status as text where there is no body."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_missing(error: ClientError) -> bool:
    """Whether the object isn't there (and the bucket is)."""
    return code(error) in _GONE


@contextmanager
def told(what: str, where: str) -> Iterator[None]:
    """Turns botocore's errors into a SluicewayError at ``where``; ``what`` is what was being done."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "no status")
        message = error.response.get("Error", {}).get("Message", "")
        said = " ".join(dict.fromkeys(str(part) for part in (status, code(error), message) if part))
        raise SluicewayError(f"{what} failed: R2 answered {said}", path=where, hint=_HINTS.get(code(error))) from error
    except BotoCoreError as error:
        raise SluicewayError(
            f"{what} failed: {error}", path=where, hint="see whether the endpoint can be reached"
        ) from error
