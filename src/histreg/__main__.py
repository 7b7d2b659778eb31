"""The command ``histreg``, or ``python -m histreg``."""

import sys

INTERRUPTED = 130  # as in histreg.cli.errors, which is not loaded yet


def main() -> None:
    """Run the command line, or name the package that it lacks."""
    if sys.argv[1:] == ["--version"]:  # also without the extra
        from importlib.metadata import version

        print(f"histreg {version('histreg')}")
        return
    try:
        from histreg.cli import run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("histreg"):
            raise
        sys.exit(
            f"histreg: the command line needs {error.name}: pip install 'histreg[cli]'"
        )
    run()


if __name__ == "__main__":
    main()
