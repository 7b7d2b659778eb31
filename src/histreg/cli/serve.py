"""The command ``histreg serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from histreg._checks import check_count
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import ModelPath, Quiet
from histreg.errors import InputError

EXAMPLE = "Example: histreg serve model/ --port 8000"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@exit_on_user_error
def serve(
    model: ModelPath,
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. By default only this machine can reach it; "
            "there is no password."
        ),
    ] = LOOPBACK[0],
    quiet: Quiet = False,
) -> None:
    """Serve predictions of a model over HTTP, as JSON and on a page to try it."""
    check_count("--port", port, at_least=1)
    if port > 65535:
        raise InputError(f"--port must be at most 65535, got --port={port}")
    with requires_extra("serve"):
        import uvicorn

        from histreg.cli.service import Service, app_of
        from histreg.tabular.regressor import HistogramRegressor

    service = Service(HistogramRegressor.load(model))
    is_local = host in LOOPBACK
    hosts = ["127.0.0.1", "localhost", "[::1]"] if is_local else None
    if not quiet:
        shown = f"[{host}]" if ":" in host else host
        typer.echo(f"Serving {service.target} on http://{shown}:{port}; Ctrl-C stops.")
        if not is_local:
            typer.echo("Everyone who can reach this address can use it.", err=True)
    config = uvicorn.Config(
        app_of(service, hosts=hosts), host=host, port=port, log_level="warning"
    )
    server = uvicorn.Server(config)
    try:
        server.run()
    except KeyboardInterrupt:  # Ctrl-C is how a service ends
        return
    except SystemExit as error:  # uvicorn's way to say that the address is taken
        raise InputError(f"the service could not listen on {host}:{port}") from error
