#!/usr/bin/env bash
# Takes the newest prices and abilities into ../data: "make prices". It needs
# node, npm and a reachable registry, and unpacks 200 MB into a temporary
# directory. Nothing that it fetches is run, but for the price data's own module.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take PACKAGE DIRECTORY: unpacks the newest version there, and leaves the day
# on which it came out in $day. The version is asked for by name, since npm
# chooses an older one by itself where the newest wants a newer node.
take() {
  local version
  version=$(npm view "$1" dist-tags.latest)
  day=$(npm view "$1" time --json | node -e '
    const time = JSON.parse(require("fs").readFileSync(0))
    console.log(time[process.argv[1]].slice(0, 10))' "$version")
  echo "$1 $version of $day"
  mkdir -p "$2"
  (cd "$2" && npm pack --silent "$1@$version" >/dev/null && tar xzf ./*.tgz)
}

take @pydantic/genai-prices "$work/prices"
node prices.mjs "$work/prices/package" "$day"
take opencode-linux-x64 "$work/abilities"
node abilities.mjs "$work/abilities/package" "$day"
git diff --stat -- ../data
