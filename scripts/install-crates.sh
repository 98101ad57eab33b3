#!/usr/bin/env bash
# Installs the sources of the libraries `master-worker`, for projects of `sintonia new`, and `malleable`: scripts/install-crates.sh DIR
#
# Below DIR are then the crates that the library consists of, with the manifest and the versions that they share.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${1:?the folder to install to}
cd "$root"

# Our own crates that those for Rust and C are made of, by their paths.
crates() {
  "${CARGO:-cargo}" tree --package master-worker --package master-worker-c --package malleable \
    --package malleable-c --edges normal,build --prefix none --format '{p}' | sed -nE "s|.* \($root/(crates/[^)]+)\).*|\1|p" | sort -u
}

mapfile -t names < <(crates)
(("${#names[@]}")) || { echo "install-crates: cargo names no crates" >&2; exit 1; }
rm -rf "$dir/crates"
find Cargo.toml Cargo.lock "${names[@]}" \( -name tests -o -name examples -o -name benches \) -prune -o -type f -print |
  while read -r path; do install -D -m 644 "$path" "$dir/$path"; done
