"""``python -m sluiceway``: the same as the command, whose entry point this is."""

import sys


def main() -> None:
    """Runs the command. Importing it takes a second or more, in which Ctrl-C must leave as it does later."""
    try:
        from sluiceway.cli.main import run

        run()
    except KeyboardInterrupt:
        print("error: interrupted\nhint: run the same command again to go on", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
