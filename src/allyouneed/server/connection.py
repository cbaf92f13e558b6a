"""What every server here needs of a connection: a socket that answers at once, and requests that cannot flood it."""

import json
import socket
from typing import Any, cast

from starlette.requests import Request

from allyouneed.errors import InputError

LOOPBACK = "127.0.0.1"


class TooLargeError(InputError):
    """A request has more bytes than are kept."""

    def __init__(self, size: int, most: int) -> None:
        self.size, self.most = size, most
        super().__init__(f"The request has {size:,} bytes, and at most {most:,} are read.")


class NoObjectError(InputError):
    """A request brings no JSON object."""

    def __init__(self) -> None:
        super().__init__('The request must be one JSON object, sent with "Content-Type: application/json".')


async def object_of(request: Request, most: int) -> dict[str, Any]:
    """The JSON object that a request brings, of at most so many bytes. A larger one is read to its end, for who is
    still sending does not listen, and is not kept. Raises TooLargeError and NoObjectError.
    """
    body, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        if size <= most:
            body += piece
    if size > most:
        raise TooLargeError(size, most)
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    # Another site can make a browser send plain text here without asking, but no JSON.
    if not isinstance(found, dict) or not request.headers.get("content-type", "").startswith("application/json"):
        raise NoObjectError
    return cast(dict[str, Any], found)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises InputError where the host is not this machine's, or the
    port is taken.
    """
    # Only of a socket that names its protocol does asyncio see that it is TCP, and send the second part of an answer at
    # once instead of when the first has been acknowledged, 40 ms later.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as problem:
        listener.close()
        raise InputError(f"Port {port} of {host} cannot be used: {problem}. Choose another one.") from problem
    listener.listen()
    return listener
