#!/usr/bin/env bash
# Installs what is missing of the sections of scripts/packages that are named:
#     scripts/setup.sh build tests
# Says nothing when nothing is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: not a Debian system; taking what scripts/packages names as installed" >&2
  exit 0
fi

wanted=" $* " section='' missing=()
while read -r package; do
  if [[ $package == "["*"]" ]]; then
    section=${package:1:-1}
    continue
  fi
  [[ $wanted == *" $section "* ]] || continue
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed* ]] || missing+=("$package")
done < <(grep -v '^#' scripts/packages)
((${#missing[@]})) || exit 0

if ((EUID == 0)); then
  as_root=(env)
elif command -v sudo >/dev/null; then
  as_root=(sudo env)
else
  echo "setup: these packages are missing: ${missing[*]}" >&2
  echo "setup: run it as root, install sudo, or have them installed:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" \
    </dev/null >"$log" 2>&1 || { cat "$log" >&2; echo "setup: apt-get $1 failed" >&2; exit 1; }
}
apt update
apt install -y --no-install-recommends "${missing[@]}"
