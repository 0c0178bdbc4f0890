#!/bin/bash
# Writes every case of ../testdata in the formats for other programs and lets those programs read them. Run it by hand:
# it fetches readers with pip and npm, about 200 MB. promtool, node_exporter, negate and icinga2 come from the Debian packages
# prometheus, prometheus-node-exporter, monitoring-plugins-basic and icinga2-bin. It exits 1 if a reader rejects a file or
# reads an outcome that differs from the exit code. A missing reader is reported but is not a failure.
set -uo pipefail
cd "$(dirname "$0")" || exit
here=$PWD
work=$(mktemp -d)
exporter=
trap '[[ -z $exporter ]] || kill "$exporter"; rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 PATH=$PATH:/usr/lib/nagios/plugins:/usr/sbin
failed=0

absent() { printf 'not available %s: %s\n' "$1" "$2"; }
program() { command -v "$1" > /dev/null || { absent "$1" "apt-get install $2"; return 1; }; }

# read_all READER COMMAND [ARGUMENT...]: runs the command with each case's name and exit code.
read_all() {
	local reader=$1 read=0 case code
	shift
	while read -r case code; do
		if "$@" "$case" "$code" > "$work/said" 2>&1; then
			read=$((read + 1))
		else
			printf 'FAIL          %s: %s: %s\n' "$reader" "$case" "$(head -n 20 "$work/said")"
			failed=1
		fi
	done < "$work/cases"
	printf '%-13s %s: %d of %d cases\n' "$( ((read == $(wc -l < "$work/cases"))) && echo PASS || echo FAIL)" "$reader" "$read" "$(wc -l < "$work/cases")"
}

(cd ../.. && go build -ldflags=-extldflags=-Wl,-z,lazy -o "$work/cudacompat" ./cmd/cudacompat) || exit
for facts in ../testdata/*.facts.json; do
	case=$(basename "$facts" .facts.json)
	sed 's/--today [^ ]*//' "../testdata/$case.args" > "$work/$case.args" 2> /dev/null # a flag for tests only
	read -ra args < "$work/$case.args"
	"$work/cudacompat" check "$facts" "${args[@]}" -o junit="$work/$case.junit" -o sarif="$work/$case.sarif" \
		-o github="$work/$case.github" -o nagios="$work/$case.nagios" -o prometheus="$work/$case.prom"
	echo "$case $?" >> "$work/cases"
done

if python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q junitparser==5.0.3 sarif-tools==3.0.5 > "$work/said" 2>&1; then
	python() { "$work/venv/bin/python" "$here/readback.py" "$2" "$work/$1.junit" "$work/$1.sarif"; }
	read_all 'junit by junitparser, sarif by sarif-tools' python
else
	absent 'junitparser, sarif-tools' "pip: $(tail -n 1 "$work/said")"
fi

if npm install --silent --prefix "$work" @actions/core@1.11.1 test-results-parser@0.4.6 @microsoft/sarif-multitool-linux@5.7.0 > "$work/said" 2>&1; then
	node_reads() { (cd "$work" && node "$here/readback.mjs" "$2" "$work/$1.junit" "$work/$1.github"); }
	read_all "junit by test-results-parser, github by GitHub's toolkit" node_reads
	multitool=$work/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool
	chmod u+x "$multitool"
	validated() { "$multitool" validate "$work/$1.sarif" --rule-kind 'Sarif;Gh' --level Error | tee "$work/errors" && ! grep ': error ' "$work/errors"; }
	read_all "sarif by Microsoft's Multitool, with GitHub's rules" validated
else
	absent "test-results-parser, GitHub's toolkit, SARIF Multitool" "npm: $(tail -n 1 "$work/said")"
fi

if program promtool prometheus; then
	checked() { promtool check metrics < "$work/$1.prom"; }
	read_all 'prometheus by promtool' checked
fi

# scraped CASE CODE: checks that node_exporter serves the file's outcome without an error
scraped() {
	local outcome=([0]=compatible [1]=incompatible [3]=inconclusive)
	cp "$work/$1.prom" "$work/textfile/now.prom"
	curl -fs "http://127.0.0.1:$port/metrics" > "$work/metrics"
	grep -x 'node_textfile_scrape_error 0' "$work/metrics" && grep -x "cudacompat_outcome{outcome=\"${outcome[$2]}\"} 1" "$work/metrics"
}
if program prometheus-node-exporter prometheus-node-exporter; then
	port=$((20000 + $$ % 10000))
	mkdir "$work/textfile"
	prometheus-node-exporter --web.listen-address="127.0.0.1:$port" --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$work/textfile" 2> "$work/exporter" &
	exporter=$!
	curl -fs --retry 20 --retry-connrefused --retry-delay 1 -o "$work/metrics" "http://127.0.0.1:$port/metrics" || cat "$work/exporter"
	read_all "prometheus by node_exporter's textfile collector" scraped
fi

# negated CASE CODE: checks that negate runs the plugin and exchanges OK and CRITICAL, in the code and in the text
negated() {
	local args states=(OK WARNING CRITICAL UNKNOWN) wanted=([0]=CRITICAL [1]=OK [3]=UNKNOWN) said state
	read -ra args < "$work/$1.args"
	said=$(negate --substitute "$work/cudacompat" check "../testdata/$1.facts.json" "${args[@]}" -o nagios)
	state=${states[$?]}
	echo "$state: $said"
	[[ $said == "CUDACOMPAT $state - "* && ($state == "${wanted[$2]}" || ($2 == 0 && $state == WARNING)) ]]
}
if program negate monitoring-plugins-basic; then read_all 'nagios by negate of the Monitoring Plugins' negated; fi

# perfdata CASE: checks that Icinga reads each value as a label, a number and thresholds
perfdata() {
	local value
	# shellcheck disable=SC2013 # performance data is words
	for value in $(sed -n '1s/.*| //p' "$work/$1.nagios"); do
		icinga2 console --eval "parse_performance_data(\"$value\")" | grep "\"label\":\"${value%%=*}\".*\"value\":$(expr "$value" : '[a-z]*=\([0-9]*\)')[,.]" || return
	done
}
if program icinga2 icinga2-bin; then read_all 'nagios performance data by Icinga' perfdata; fi
exit $failed
