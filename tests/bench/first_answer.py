"""From the start of a program to its first good answer.

Job: the time that whoever starts a program waits, in milliseconds, and the same of the child alone, to be
taken off. One call, over whatever the program speaks (http, ws, mcp); the answer is checked.
"""
import json
import os
import re
import socket
import struct
import subprocess
import time

PATIENCE_S = 20
POLL_S = 0.0003

ECHO = {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": ["first"]}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}}
# Each pattern matches the answer to its request, and nothing else.
ECHOED = re.compile(rb'"result":\["first"\]')
INITIALIZED = re.compile(rb'"result":.*"serverInfo"')


def first_answer_ms(program, way):
    """Starts the program, which must not run, and calls it until it answers."""
    began = time.monotonic()
    program.start(POLL_S)
    while True:
        try:
            ask(program, way)
            return (time.monotonic() - began) * 1000
        except OSError as error:
            if time.monotonic() > began + PATIENCE_S:
                raise RuntimeError(f"no answer: {error}") from error
            time.sleep(POLL_S)


def child_answer_ms(command):
    """The same of a child on pipes."""
    began = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(json.dumps(ECHO).encode() + b"\n")
        child.stdin.flush()
        await_text(lambda: os.read(child.stdout.fileno(), 65536), ECHOED)
        took = time.monotonic() - began
        child.stdin.close()
    return took * 1000


def ask(program, way):
    path = program.targets[way][1]
    with socket.create_connection(("127.0.0.1", program.port), PATIENCE_S) as stream:
        if way == "ws":
            ask_by_frame(stream, path)
        else:
            ask_by_post(stream, path, INITIALIZE if way == "mcp" else ECHO)
        await_text(lambda: stream.recv(65536), INITIALIZED if way == "mcp" else ECHOED)


def ask_by_post(stream, path, message):
    body = json.dumps(message)
    stream.sendall((f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                    "Accept: application/json, text/event-stream\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n{body}").encode())


def ask_by_frame(stream, path):
    stream.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c3RkZ2F0ZSBpcyBmYXN0IQ==\r\n\r\n").encode())
    await_text(lambda: stream.recv(65536), re.compile(rb"^HTTP/1.1 101 .*\r\n\r\n", re.DOTALL))
    body = json.dumps(ECHO).encode()
    # A final text frame. Its mask is zero, so the payload is unchanged.
    stream.sendall(struct.pack("!BB4x", 0x81, 0x80 | len(body)) + body)


def await_text(read, pattern):
    text = b""
    while not pattern.search(text):
        piece = read()
        if not piece:
            raise ConnectionError(f"ended after {text[-200:]!r}")
        text += piece
