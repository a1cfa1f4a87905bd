"""An external processor for Envoy's `ext_proc`: it masks numbers of cards in prompts, and denies private keys.

`python processor.py PORT [keep-length]`: with the second word it leaves `content-length` where it is, which is a mistake.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
CARD, MASK = b"4111 1111 1111 1111", b"[card]"


def messages() -> Any:
    """The messages of `ext_proc.proto`."""
    with tempfile.TemporaryDirectory() as scratch:
        if protoc.main(["protoc", f"-I{HERE}", f"--python_out={scratch}", str(HERE / "ext_proc.proto")]) != 0:
            raise RuntimeError("ext_proc.proto cannot be compiled")
        sys.path.insert(0, scratch)
        return importlib.import_module("ext_proc_pb2")


def serve(port: int, keeps_length: bool) -> None:
    pb = messages()

    def process(requests: Iterator[Any], _: grpc.ServicerContext) -> Iterator[Any]:
        for request in requests:
            kind = request.WhichOneof("request")
            answer = pb.CommonResponse()
            if kind == "request_headers" and not keeps_length:
                answer.header_mutation.remove_headers.append("content-length")
            if kind == "request_body":
                body = request.request_body.body
                if b"BEGIN PRIVATE KEY" in body:
                    denied = pb.ImmediateResponse(status=pb.HttpStatus(code=403), body=b'{"error":{"code":"guardrail"}}', details="guardrail")
                    yield pb.ProcessingResponse(immediate_response=denied)
                    continue
                if CARD in body:
                    answer.body_mutation.body = body.replace(CARD, MASK)
            yield pb.ProcessingResponse(**{kind: pb.PartResponse(response=answer)})

    handler = grpc.stream_stream_rpc_method_handler(process, pb.ProcessingRequest.FromString, pb.ProcessingResponse.SerializeToString)
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("envoy.service.ext_proc.v3.ExternalProcessor", {"Process": handler}),))
    if server.add_insecure_port(f"127.0.0.1:{port}") != port:
        raise RuntimeError(f"port {port} is not free")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2:] == ["keep-length"])
