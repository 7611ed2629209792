"""The program: all commands, and how it exits when one of them fails. Each command has a module of its own."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from thence.cli import datasets
from thence.cli.apply import apply
from thence.cli.check import check
from thence.cli.compare import compare
from thence.cli.detect import detect
from thence.cli.explore import explore
from thence.cli.export import export
from thence.cli.generalise import generalise
from thence.cli.hints import command_hint
from thence.cli.import_data import import_data
from thence.cli.job import JobCommand
from thence.cli.mine import demo, mine
from thence.cli.monitor import monitor
from thence.cli.report import report
from thence.cli.reproduce import reproduce
from thence.cli.review import review
from thence.cli.screen import print_error
from thence.cli.show import show
from thence.cli.verify import verify
from thence.errors import LONGEST_NAME, ThenceError, interrupt_behind, quote

LONGEST_USAGE = 1_000
_MOMENT = 0.05  # seconds
_FLAGS = "thence.flags"  # the options of the command, in the context


class ErrorHandlingGroup(TyperGroup):
    """A group of commands that turns every expected failure into one line on standard error and an exit code."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the options that stand before the command."""
        with _short_usage():
            return super().make_context(*args, **extra)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and keep its options for hints."""
        name, command, rest = super().resolve_command(ctx, args)
        leaf: Any = command
        for word in rest:
            leaf = getattr(leaf, "commands", {}).get(word, leaf)
        ctx.meta[_FLAGS] = {flag for one in getattr(leaf, "params", ()) for flag in (*one.opts, *one.secondary_opts)}
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command of the context."""
        debug = ctx.params.get("debug")
        try:
            with _short_usage(), _plain_interrupts():
                out = super().invoke(ctx)
            sys.stdout.flush()
            return out
        except ThenceError as error:
            if debug:
                raise
            print_error(f"thence: {error}{command_hint(error, ctx.meta.get(_FLAGS, ()))}")
            raise typer.Exit(1) from error
        except KeyboardInterrupt as interrupt:
            if debug:
                raise
            print_error(f"thence: interrupted; {interrupt}" if str(interrupt) else "thence: interrupted")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader of the pipe has closed it, as in `thence show … | head`.
            _discard_output()
            raise typer.Exit(0) from None
        except OSError as error:
            if debug:
                raise
            _discard_output()
            where = quote(error.filename)[1:-1] if error.filename else "standard output"
            print_error(f"thence: {where}: {error.strerror or error}")
            raise typer.Exit(1) from error


def _interrupt() -> None:
    """Interrupt the main thread, also while it waits for something."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """An interrupt that Python has turned into an error, or that a library has swallowed, is an interrupt again."""
    again: list[threading.Timer] = []
    usual = sys.unraisablehook

    def repeat(swallowed: Any) -> None:
        if not issubclass(swallowed.exc_type or Exception, KeyboardInterrupt):
            usual(swallowed)
            return
        # It came while a compiled library had called back, which cannot raise: it comes again a moment later.
        again.append(threading.Timer(_MOMENT, _interrupt))
        again[-1].daemon = True
        again[-1].start()

    sys.unraisablehook = repeat
    try:
        yield
    except RuntimeError as error:
        if (interrupt := interrupt_behind(error)) is not None:
            raise interrupt from None
        raise
    finally:
        sys.unraisablehook = usual
        for timer in again:
            timer.cancel()


@contextmanager
def _short_usage() -> Iterator[None]:
    """Errors of usage quote what was given; of what is long, they quote the beginning."""
    try:
        yield
    except Exception as error:
        text = getattr(error, "message", None)
        if hasattr(error, "format_message") and isinstance(text, str):  # an error of the library that reads options
            words = re.sub(rf"\S{{{LONGEST_NAME + 1},}}", lambda word: word[0][: LONGEST_NAME - 1] + "…", text)
            error.message = words if len(words) <= LONGEST_USAGE else words[: LONGEST_USAGE - 1] + "…"  # type: ignore[attr-defined]
        raise


def _discard_output() -> None:
    """Redirect standard output, so that Python does not fail at exit when it flushes what could not be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=ErrorHandlingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Semantic association rules from sensor data and the knowledge graph around the sensors.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"thence {version('thence')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Semantic association rules from sensor data and the knowledge graph around the sensors."""


app.command()(demo)
app.command(cls=JobCommand)(mine)
app.command(cls=JobCommand)(check)
app.command("import", cls=JobCommand)(import_data)
app.command()(show)
app.command()(report)
app.command()(explore)
app.command()(review)
app.command()(export)
app.command(cls=JobCommand)(apply)
app.command(cls=JobCommand)(detect)
app.command()(monitor)
app.command(cls=JobCommand)(generalise)
app.command(cls=JobCommand)(compare)
app.command()(reproduce)
app.command()(verify)
app.add_typer(datasets.app, name="datasets")
