"""Workers AI's errors: an internal code, the HTTP status that goes with it, and a description."""

from __future__ import annotations

from collections.abc import Mapping

# Internal code -> (HTTP status, description). The codes and statuses are Cloudflare's.
TABLE: dict[int, tuple[int, str]] = {
    3006: (413, "Request is too large"),
    3007: (408, "Request timeout"),
    3036: (
        429,
        "You have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid "
        "plan if you would like to continue usage.",
    ),
    3037: (404, "Finetune not found"),
    3039: (429, "Too many requests for this model, please slow down."),
    3040: (429, "Capacity temporarily exceeded, please try again."),
    3041: (403, "The account is not allowed to access this model"),
    3042: (404, "Deprecated SDK version"),
    3043: (500, "Internal server error"),
    5004: (400, "Invalid data for base64 input"),
    5005: (405, "The model does not support LoRA inference"),
    5006: (400, "Bad input"),
    5007: (400, "No such model"),
    5016: (403, "User has not agreed to the model terms"),
    5018: (403, "The account is not allowed to access this model"),
    5021: (413, "The request exceeds this model context window limit"),
    5028: (410, "This model was deprecated"),
    5035: (403, "This model needs the Workers Paid plan or prepaid AI Gateway credits"),
}


class AiError(Exception):
    """An answer with no inference in it. ``status`` is the HTTP status; ``headers`` go with it."""

    headers: Mapping[str, str] = {}

    def __init__(self, code: int, description: str | None = None, *, status: int | None = None) -> None:
        known_status, known_text = TABLE.get(code, (500, "Internal server error"))
        self.code = code
        self.status = status or known_status
        self.description = description or known_text
        super().__init__(f"{code}: {self.description}")

    def for_binding(self) -> dict[str, object]:
        """What workerd's AI binding turns into ``AiError: <code>: <description>``."""
        return {
            "name": "AiError",
            "internalCode": self.code,
            "httpCode": self.status,
            "message": f"AiError: {self.description}",
            "description": self.description,
        }

    def for_rest(self, request_id: str) -> dict[str, object]:
        """The same in the envelope of Cloudflare's API."""
        message = f"AiError: {self.description} ({request_id})"
        return {"result": {}, "success": False, "errors": [{"code": self.code, "message": message}], "messages": []}


class BrokenOffError(ConnectionError):
    """The connection is to break off here, as a prompt (``#cut``) or a fault asked."""


def bad_input(detail: str) -> AiError:
    return AiError(5006, f"Bad input: Error: {detail}")
