#!/bin/sh
# test.sh SITE PROGRAM: tests a built site in Chromium, and the page's own lookup in Node beside the command line.
# It installs puppeteer-core and axe-core into a directory of its own. CHROMIUM names the browser.
set -eu
site=$(cd "$1" && pwd) program=$(cd "$(dirname "$2")" && pwd)/$(basename "$2") here=$(cd "$(dirname "$0")" && pwd)
kit=${SITE_TEST_KIT:-${XDG_CACHE_HOME:-$HOME/.cache}/cudacompat/site-test}
mkdir -p "$kit"
[ -d "$kit/node_modules/puppeteer-core" ] && [ -d "$kit/node_modules/axe-core" ] ||
	npm install --prefix "$kit" --no-save --no-audit --no-fund puppeteer-core@25.16.0 axe-core@4.14.1
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
export CHROMIUM NODE_PATH="$kit/node_modules"
node "$here/lookup_test.js" "$site" "$program"
top=$here/../..
node "$here/readings_test.js" "$site" "$program" "$top"/examples/collect_env/*.txt "$top"/probe/internal/input/testdata/samples/smi-[1-9o]*.txt \
	"$top"/probe/internal/input/testdata/samples/smi-q.txt
node "$here/browser_test.js" "$site"
node "$here/paste_browser_test.js" "$site"
