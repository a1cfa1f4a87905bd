"""What is linked into an artifact and is no crate: C libraries and what Rust brings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crates import Crate

_HERE = Path(__file__).resolve().parent

#: Of musl, also within wasi-libc. Its COPYRIGHT names the authors of parts, all under these terms or freer ones.
MUSL_NOTICE = """\
musl as a whole is licensed under the following standard MIT license:

Copyright © 2005-2020 Rich Felker, et al.

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


@dataclass(frozen=True)
class Library:
    """Something linked that is no crate."""

    name: str
    version: str
    license: str
    """An SPDX expression."""
    site: str
    notice: str
    """What its licence asks to be passed on; empty where that is nothing, or the licence's text alone."""


def libraries(target: str, crates: Sequence[Crate]) -> list[Library]:
    """What is linked into an artifact of these crates for the target."""
    rust = rust_version()
    found = [Library("rust-std", rust, "MIT OR Apache-2.0", "https://github.com/rust-lang/rust", "")]
    if "musl" in target:
        found.append(Library("musl", "1.2.5", "MIT", "https://musl.libc.org", MUSL_NOTICE))
    if "wasi" in target:
        # It is in Rust's package, and does not say its version.
        terms = "(Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT) AND MIT"
        found.append(Library("wasi-libc", f"of-rust-{rust}", terms, "https://github.com/WebAssembly/wasi-libc", MUSL_NOTICE))
    for crate in crates:
        if crate.name == "libsqlite3-sys":
            header = (crate.source / "sqlite3" / "sqlite3.h").read_text(errors="replace")
            version = re.search(r'#define SQLITE_VERSION +"([^"]+)"', header)
            if version is None:
                raise RuntimeError(f"{crate.id} does not say which SQLite it brings")
            found.append(Library("sqlite", version[1], "blessing", "https://sqlite.org", ""))
        if crate.name == "libmimalloc-sys":
            header = (crate.source / "c_src" / "mimalloc" / "v3" / "include" / "mimalloc.h").read_text()
            number = re.search(r"#define MI_MALLOC_VERSION +(\d+)(\d\d)(\d\d)\b", header)
            if number is None:
                raise RuntimeError(f"{crate.id} does not say which mimalloc it brings")
            version = ".".join(str(int(part)) for part in number.groups())
            notice = (crate.source / "c_src" / "mimalloc" / "v3" / "LICENSE").read_text()
            found.append(Library("mimalloc", version, "MIT", "https://github.com/microsoft/mimalloc", notice))
    return sorted(found, key=lambda library: library.name)


def rust_version() -> str:
    """Of the compiler that releases are built with."""
    version = re.search(r'^channel = "(.+)"$', (_HERE / "rust-toolchain.toml").read_text(), re.MULTILINE)
    if version is None:
        raise RuntimeError("rust-toolchain.toml has no channel")
    return version[1]
