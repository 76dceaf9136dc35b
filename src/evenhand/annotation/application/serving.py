"""The application, and serving it."""

from fastapi import FastAPI

from evenhand.annotation.store import Store


def application(store: Store, *, address: str, proxied: bool = False) -> FastAPI:
    """The ASGI application of one study.

    address: where people reach it (https://judge.example.org), which links are made of and forms are held against.
    proxied: whether X-Forwarded-* of a proxy is believed.
    """
    raise NotImplementedError


def serve(store: Store, *, address: str, host: str, port: int, proxied: bool = False) -> None:
    """Serve until interrupted (uvicorn)."""
    raise NotImplementedError
