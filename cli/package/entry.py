"""Entry point of the one-file program: by the name it was started as."""

import fcntl
import os
import sys

# For as long as this process lives its directory is in use, and not for the next version to remove.
place = os.path.dirname(sys.executable)
try:
    fcntl.flock(
        os.open(os.path.join(place, ".lock"), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600),
        fcntl.LOCK_SH | fcntl.LOCK_NB,
    )
    base, name = os.path.split(place)
    if not name.startswith(".new.") and any(other.startswith(".new.") for other in os.listdir(base)):
        # An unpacking that was killed, perhaps: nobody else would clear it away until the next version comes.
        from remit.commands.settle import clear

        clear(base, name)
except OSError:
    pass
if os.path.basename(os.environ.pop("REMIT_STARTED_AS", "")).startswith("remit-sdk"):
    from remit.__main__ import main_sdk as main
else:
    from remit.__main__ import main
main()
