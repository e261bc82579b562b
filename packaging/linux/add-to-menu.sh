#!/bin/sh
# Adds this copy of Codecoil to your desktop menu, for your user only:   ./add-to-menu.sh
# Removes it again:                                                      ./add-to-menu.sh --remove
set -eu

here=$(cd "$(dirname "$0")" && pwd)
data=${XDG_DATA_HOME:-$HOME/.local/share}
entry=$data/applications/codecoil.desktop

remove() {
    rm -f "$entry"
    find "$data/icons/hicolor" -path '*/apps/codecoil.*' -delete 2>/dev/null || true
}

if [ "${1:-}" = --remove ]; then
    remove
    echo "Codecoil is no longer in the menu."
    exit 0
fi

remove
mkdir -p "$data/applications"
cp -R "$here/share/icons" "$data/"
# In Exec the path is quoted.  Characters that quotes do not protect are escaped; backslashes and percent signs are
# doubled.
program=$(printf '%s' "$here/codecoil" | sed -e 's/[\\"`$]/\\&/g' -e 's/\\/\\\\/g' -e 's/%/%%/g')
while IFS= read -r line; do
    case $line in
        Exec=*) printf 'Exec="%s"\n' "$program" ;;
        *) printf '%s\n' "$line" ;;
    esac
done < "$here/share/applications/codecoil.desktop" > "$entry"
if command -v update-desktop-database > /dev/null; then
    update-desktop-database "$data/applications"
fi
echo "Codecoil is in the menu.  It stays in $here; run this again if you move it."
