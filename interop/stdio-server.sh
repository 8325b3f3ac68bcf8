#!/usr/bin/env bash
# stdio-server.sh STATUS LOG COMMAND...: a stdio server as a client sees it, with a witness.
#
# Its stderr goes to LOG, and its exit status is appended to STATUS. A server that a client had to kill leaves no line
# there: it should have ended by itself when its stdin closed.
status_file=$1 log=$2
shift 2
"$@" 2>>"$log"
status=$?
echo "exit $status" >>"$status_file"
exit "$status"
