"""The addresses of this computer: where the page listens, and what others in the room type.

A browser sends the name that it was given in `Host`. A page of a stranger can let its own name lead
to this computer (DNS rebinding), so only names that belong to it are answered.
"""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress
from ipaddress import ip_address

import psutil
import segno
from rich.console import Console
from rich.text import Text

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})  # the names that only this computer has
EVERY = ("0.0.0.0", "::")  # listen at all addresses
HOST_HEADER = re.compile(r"(\[[^][]+\]|[^][:/?#@\\]+)(:\d*)?")  # a name or an address, and a port
ELSEWHERE = ("198.51.100.1", 9)  # of no computer (RFC 5737); nothing is sent to it
BLOCKS = (" ▄", "▀█")  # by the upper and the lower half: dark or not
MARGIN = 4  # modules around a QR code (ISO/IEC 18004)


def plain(name: str) -> str:
    """A name in small letters and without a dot at its end, an address in its shortest form."""
    name = name.strip("[]").partition("%")[0].lower().removesuffix(".")
    with suppress(ValueError):
        address = ip_address(name)
        return str(getattr(address, "ipv4_mapped", None) or address)
    return name


def name_in(host: str) -> str:
    """The name in a `Host` header, in small letters; "" for one that is malformed."""
    found = HOST_HEADER.fullmatch(host)
    return found[1].strip("[]").lower() if found else ""


def is_local(name: str) -> bool:
    """True for a name that leads to no other computer than one's own."""
    if name in LOOPBACK:
        return True
    with suppress(ValueError):
        return ip_address(name).is_loopback
    return False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at a name or an address of this computer. Port 0 is any free one.

    Raises ValueError for an address of another computer, and if the port is taken.
    """
    known = [*reachable(), "127.0.0.1", *EVERY]
    give = f"give --host one of {', '.join(known)}"
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ValueError(f"{host!r} is neither a name nor an address: {give}") from None
    places = {str(address[0]): (address, family) for family, *_, address in found}
    ours = [name for name in places if name in known or is_local(name)]
    if not ours:
        raise ValueError(f"{host} is no address of this computer for a browser: {give}")
    # One that others can reach, if there is one.
    address, family = places[min(ours, key=lambda name: (is_local(name), ":" in name))]
    is_double = address[0] == "::" and socket.has_dualstack_ipv6()
    try:
        listening = socket.create_server(address, family=family, dualstack_ipv6=is_double)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ValueError(f"port {port} cannot be used ({why}): give another --port") from None
    # Connections inherit this. Nagle's algorithm delays answers by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def reachable() -> list[str]:
    """The addresses of this computer that others can reach, the most usual one first."""
    found = []
    is_up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    for interface, addresses in psutil.net_if_addrs().items():
        if interface.partition(":")[0] not in is_up:  # "eth0:1" is a second name of eth0
            continue
        for one in addresses:
            if one.family in (socket.AF_INET, socket.AF_INET6):
                address = ip_address(one.address.partition("%")[0])
                # Browsers know no interface, which a local address of IPv6 needs.
                if not (address.is_loopback or (address.version == 6 and address.is_link_local)):
                    found.append(address)
    usual = outgoing()
    found.sort(key=lambda one: (str(one) != usual, one.is_link_local, one.version))
    return list(map(str, found))


def outgoing() -> str:
    """The address from which this computer reaches others; "" without a way to any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, suppress(OSError):
        asking.connect(ELSEWHERE)
        return str(asking.getsockname()[0])
    return ""


def names_of(host: str, bound: str) -> frozenset[str]:
    """The names by which a server may be called, as `plain` writes them.

    host, bound: the name that was given for it, and the address to which that led. The address to
    which a request is sent is one more name.
    """
    names = {plain(host), plain(bound)}
    if bound in EVERY:
        own = plain(socket.gethostname())
        names |= {own, own.partition(".")[0] + ".local"}
    if bound in EVERY or is_local(plain(bound)):
        names |= LOOPBACK
    return frozenset(names)


def page_at(name: str, port: int) -> str:
    """The address of the page at a name or an address, such as http://192.168.1.5:8000."""
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def names_for_others(host: str, bound: str) -> list[str]:
    """The names under which other devices reach a server, see `names_of`; none if they cannot."""
    if bound in EVERY:
        return [one for one in reachable() if bound == "::" or ":" not in one]
    return [] if is_local(plain(bound)) else [plain(host)]


def show_code(text: str, console: Console) -> None:
    """Draw a text as a QR code, black on white whatever the colours of the terminal are.

    Nothing is drawn where there is no terminal, no colour, no block or no room.
    """
    rows = [list(row) for row in segno.make_qr(text).matrix_iter(border=MARGIN)]
    rows.append([0] * len(rows))  # their number is odd, and a line has two
    lines = [
        "".join(BLOCKS[upper][lower] for upper, lower in zip(*pair, strict=True))
        for pair in zip(rows[::2], rows[1::2], strict=True)
    ]
    has_blocks = console.color_system and not console.options.ascii_only
    if has_blocks and console.width >= len(lines[0]):
        console.print(Text("\n".join(lines), "#000000 on #ffffff"))
