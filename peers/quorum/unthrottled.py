"""The original backend without its request throttle, for the benches.

python unthrottled.py [--undelayed]

`--undelayed` also takes away the pause that follows every message of a discussion.
"""

import runpy
import sys

from quorum import constants

# Both are read when the backend's own module is loaded, so they are set before that.
constants.RATE_LIMIT_BURST_SIZE = 10**12
if "--undelayed" in sys.argv[1:]:
    constants.MESSAGE_RENDER_DELAY = 0

sys.argv[1:] = ["--ipc"]
runpy.run_module("quorum", run_name="__main__")
