"""Puts the binary named by CUDACOMPAT_BINARY into the wheel as a script, for the platform CUDACOMPAT_PLATFORM."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BinaryHook(BuildHookInterface):
    def initialize(self, version: str, build_data: "dict[str, Any]") -> None:
        platform = os.environ["CUDACOMPAT_PLATFORM"]
        script = "cudacompat.exe" if platform.startswith("win") else "cudacompat"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["shared_scripts"][os.environ["CUDACOMPAT_BINARY"]] = script
