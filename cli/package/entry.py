"""Entry point of the one-file program: by the name it was started as."""

import fcntl
import os
import sys

# For as long as this process lives its directory is in use, and not for the next version to remove.
try:  # noqa: SIM105 - contextlib is a millisecond of every start
    fcntl.flock(
        os.open(os.path.join(os.path.dirname(sys.executable), ".lock"), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600),
        fcntl.LOCK_SH | fcntl.LOCK_NB,
    )
except OSError:
    pass
if os.path.basename(os.environ.pop("REMIT_STARTED_AS", "")).startswith("remit-sdk"):
    from remit.__main__ import main_sdk as main
else:
    from remit.__main__ import main
main()
