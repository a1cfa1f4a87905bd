"""Changes in a built filter that leave all of its code as it is: WebAssembly's binary format, as far as that takes."""

from __future__ import annotations

from collections.abc import Iterator

_CUSTOM, _IMPORT, _FUNCTION, _EXPORT, _CODE = 0, 2, 3, 7, 10
_HEADER = b"\0asm\1\0\0\0"
#: What Envoy calls with each request's head: context, number of headers, whether that is all.
_ENTRY = b"proxy_on_request_headers"


def noted(wasm: bytes, note: str) -> bytes:
    """The same filter, but another file: Envoy gives equal files one VM."""
    text = note.encode()
    return wasm + _section(_CUSTOM, _number(5) + b"drill" + text)


def crashing(wasm: bytes, headers: int) -> bytes:
    """The filter that traps, as it would on a fault of its own, at a request with more than so many headers.

    The export is replaced by a function that looks at their number and calls the original.
    """
    sections = list(_sections(wasm))
    contents = {kind: content for kind, content in sections if kind != _CUSTOM}
    imported = _imported_functions(contents[_IMPORT])
    count, types_at = _read(contents[_FUNCTION], 0)
    types = _numbers(contents[_FUNCTION][types_at:])
    exports, original = _redirected(contents[_EXPORT], imported + count)
    # if headers > N { unreachable }; original(context, headers, end)
    code = b"\x20\x01\x41" + _signed(headers) + b"\x4b\x04\x40\x00\x0b"
    code += b"\x20\x00\x20\x01\x20\x02\x10" + _number(original) + b"\x0b"
    body = b"\x00" + code  # no locals
    bodies, bodies_at = _read(contents[_CODE], 0)
    contents[_FUNCTION] = _number(count + 1) + contents[_FUNCTION][types_at:] + _number(types[original - imported])
    contents[_EXPORT] = exports
    contents[_CODE] = _number(bodies + 1) + contents[_CODE][bodies_at:] + _number(len(body)) + body
    return _HEADER + b"".join(_section(kind, contents.get(kind, content)) for kind, content in sections)


def _sections(wasm: bytes) -> Iterator[tuple[int, bytes]]:
    if not wasm.startswith(_HEADER):
        raise ValueError("not a WebAssembly module")
    at = len(_HEADER)
    while at < len(wasm):
        kind = wasm[at]
        size, at = _read(wasm, at + 1)
        yield kind, wasm[at : at + size]
        at += size


def _section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + _number(len(content)) + content


def _imported_functions(content: bytes) -> int:
    """How many there are: they have the first indices."""
    count, at = _read(content, 0)
    functions = 0
    for _ in range(count):
        for _ in range(2):  # module and name
            size, at = _read(content, at)
            at += size
        kind = content[at]
        if kind != 0:
            raise ValueError("the filter imports something that is no function")
        functions += 1
        _, at = _read(content, at + 1)
    return functions


def _redirected(content: bytes, new: int) -> tuple[bytes, int]:
    """The exports with another function for `_ENTRY`, and the one that it was."""
    count, at = _read(content, 0)
    made, original = _number(count), None
    for _ in range(count):
        size, at = _read(content, at)
        name = content[at : at + size]
        kind = content[at + size]
        index, at = _read(content, at + size + 1)
        if name == _ENTRY:
            original, index = index, new
        made += _number(size) + name + bytes([kind]) + _number(index)
    if original is None:
        raise ValueError(f"the filter does not export {_ENTRY.decode()}")
    return made, original


def _read(content: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 number, and where the next byte is."""
    number = shift = 0
    while True:
        byte = content[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def _numbers(content: bytes) -> list[int]:
    found, at = [], 0
    while at < len(content):
        number, at = _read(content, at)
        found.append(number)
    return found


def _number(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _signed(value: int) -> bytes:
    """A positive number as signed LEB128: the sixth bit of the last byte would be a sign."""
    if not 0 <= value < 64:
        raise ValueError("only numbers of one byte are needed")
    return bytes([value])
