"""Refusals as the platform words them: HTTP status, numeric code, message.

Codes marked "own number" are refusals whose real code is not published; clients only print them.
"""

from __future__ import annotations


class ApiError(Exception):
    """Answered as an envelope with ``success: false``. ``status`` is the HTTP status."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class HostError(Exception):
    """The data plane could not be reached, or failed in a way that is not the caller's fault."""


class HostRejected(Exception):
    """The data plane refuses a world or a version and keeps serving the one before."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def authentication() -> ApiError:
    return ApiError(401, 10000, "Authentication error")


def wrong_account() -> ApiError:
    return ApiError(403, 9109, "Unauthorized to access requested resource")


def no_route(path: str) -> ApiError:
    return ApiError(404, 7003, f"Could not route to {path}, perhaps your object identifier is invalid?")


def malformed(what: str = "Could not parse request body") -> ApiError:
    return ApiError(400, 10001, what)


def validation(message: str) -> ApiError:
    """A script, its metadata or a deployment that breaks a rule."""
    return ApiError(400, 10021, message)


def worker_not_found() -> ApiError:
    return ApiError(404, 10007, "This Worker does not exist on your account.")


def service_not_found() -> ApiError:
    return ApiError(404, 10090, "workers.api.error.service_not_found")


def version_not_found(version_id: str) -> ApiError:
    return ApiError(404, 10212, f"Version {version_id} was not found for this Worker.")  # own number


def deployment_not_found(deployment_id: str) -> ApiError:
    return ApiError(404, 10214, f"Deployment {deployment_id} was not found for this Worker.")  # own number


def lifecycle_in_upload() -> ApiError:
    return ApiError(
        400,
        10211,
        "Version upload failed. You attempted to upload a version of a Worker that includes a Durable Object"
        ' migration, but migrations must be fully applied by running "wrangler deploy".',
    )
