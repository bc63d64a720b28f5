"""Standard Webhooks as a receiver checks them: https://github.com/standard-webhooks/standard-webhooks."""

import base64
import hashlib
import hmac
import secrets
import time

# What the specification has receivers allow.
TOLERANCE = 300


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


def signature(secret: str, headers: dict, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def is_signed_by(secret: str, headers: dict, body: bytes) -> bool:
    """One of the signatures is that of the secret, and not an old one."""
    fresh = abs(time.time() - int(headers["webhook-timestamp"])) < TOLERANCE
    return fresh and signature(secret, headers, body) in headers["webhook-signature"].split(" ")
