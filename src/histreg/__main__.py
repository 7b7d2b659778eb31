"""The command ``histreg``, or ``python -m histreg``."""

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from histreg.cli import run
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("histreg"):
            raise
        sys.exit(
            f"histreg: the command line needs {error.name}: pip install 'histreg[cli]'"
        )
    run()


if __name__ == "__main__":
    main()
