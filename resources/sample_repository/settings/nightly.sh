#!/bin/sh
# Every night: a copy of the harbour, a fresh board, and a word to the log.
set -eu

harbour="${TIDEWATER_HARBOUR:-harbour.sqlite3}"
copies="${TIDEWATER_COPIES:-copies}"
moment="$(date +%Y-%m-%dT%H:%M)"

note() {
    printf '%s  %s\n' "$moment" "$1" >> nightly.log
}

if [ ! -f "$harbour" ]; then
    note "there is no harbour at $harbour"
    exit 1
fi

python3 settings/backup.py "$harbour" "$copies" && note "copied to $copies"
python3 -m tidewater --harbour "$harbour" board-export "$moment" board/board.json && note "board written"
