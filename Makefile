# make doctor     build the program and examine this machine (and show an example if there is nothing to judge)
# make wheel      build a Python wheel for this machine: dist/cudacompat-*.whl
# make static     build it without NVML and libc: bin/cudacompat-static
# make test       run the tests
# make grid       run in full what make test samples: pins for every driver, GPU and Python, every upgrade, every log
# make faults     let each reading call fail on 20 broken and 20 sound machines (FAULTS=60: one fault in 60, two minutes)
# make lint       run gofmt, vet, staticcheck and tools/lint (names, comments), and check go.mod and NOTICE
# make freeze     give the tests today's tables; read what then differs
# make golden     rewrite the tests' expected output; read the difference before you commit it
# make screen     draw docs/screen.svg, the picture in the README
# make fuzz       feed broken input to every parser; FUZZTIME=300x sets how many inputs each gets
# make torture    run the binary against hostile libraries, trees and inputs for MINUTES=1; prints counts that must be 0
# make vulncheck  check the linked modules against the vulnerability database (VULNDB=DIR: a copy of it)
# make uses       run the three uses of docs/uses.md and write their output there (root, bwrap, gcc)
# make machines   record the machines of the cases and of the situations anew (root, bwrap, gcc; 12 GB of wheels)
# make gpu        write gpu-report.md: the checks that need an NVIDIA GPU
# make bench      measure what runs cost, and write docs/performance.md
# make site       write the web site into dist/site (SITE=https://…: where it will be; REPOSITORY=https://…: the project)
# make site-test  test it in Chromium, and its answers beside the program's (node, npm, chromium)
# make paste-test compare what the site's engine says of some 2,000 texts with what the program says (node; CASES=DIR: more)
# make release    build every artefact of a release into dist/ (VERSION=0.1.0): see packaging/release.sh

# go-nvml wraps functions that its header marks as deprecated. None of the warnings concerns our code.
export CGO_CFLAGS := -O2 -g -Wno-deprecated-declarations
# go-nvml resolves the driver library's symbols when they are called; a linker that binds them at start-up
# (-z now, the default of hardened toolchains) ends the program before main.
LAZY := -ldflags=-extldflags=-Wl,-z,lazy
# Position-independent, as distributions ask for; it takes 0.9 ms of a start and 1.3 MB. The static program is not: it
# would need a loader, which a scratch image does not have.
RELEASE := -buildmode=pie -trimpath '-ldflags=-s -w -extldflags=-Wl,-z,lazy'

, := ,

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

.PHONY: wheel doctor test grid duality faults lint freeze golden fuzz situations uses machines gpu bench build static release rename clean

build: bin/cudacompat

bin/cudacompat: FORCE
	@tools/toolchain.sh
	go build $(RELEASE)$(if $(SITE), '-ldflags=-s -w -extldflags=-Wl$(,)-z$(,)lazy -X main.site=$(SITE)') -o $@ ./cmd/cudacompat

# Without NVML and libc, for scratch images, Alpine and --root scans.
static: FORCE
	@tools/toolchain.sh
	CGO_ENABLED=0 go build -trimpath '-ldflags=-s -w' -o bin/cudacompat-static ./cmd/cudacompat

wheel: build
	packaging/wheel.sh bin/cudacompat dist

# The exit code is the outcome, but make reports any code except 0 as its own failure. 3 is inconclusive: most often a
# machine without a GPU, for which the example shows a verdict.
doctor: build
	@bin/cudacompat doctor $(ARGS); code=$$?; [ $$code -le 3 ] || exit $$code; \
	if [ $$code = 3 ] && [ -z '$(ARGS)' ]; then \
		printf '\n%s\n\n' 'An example of a verdict (bin/cudacompat check example:broken):'; \
		bin/cudacompat check example:broken; [ $$? = 1 ]; \
	fi

release:
	packaging/release.sh

test:
	go test $(LAZY) -timeout 30m ./...

grid:
	CUDACOMPAT_GRID=whole go test $(LAZY) -timeout 90m -skip TestEveryRequirement ./matrix ./internal/logs ./tools/manynodes
	CUDACOMPAT_GRID=whole go test $(LAZY) -run 'TestConfusedDeputy|TestNoLeaksOfFacts|TestDialectsHoldNoInput' ./cmd/cudacompat

# Compares the answers of requires with those of check, for every artefact on every GPU, each with a part of the drivers:
# a quarter of an hour of processor time. GRID=whole takes every driver for each, about three hours. make test takes a
# sample.
GRID ?= releases

duality:
	CUDACOMPAT_GRID=$(GRID) go test $(LAZY) -timeout 3h -v -run TestEveryRequirement ./matrix

# All faults take about two hours of processor time. SEED draws other machines. make test tries a few faults on a few.
# NVML's calls fail with its own codes, on machines with their own NVML.
FAULTS ?= 60

faults: build
	trees=$$(mktemp -d) && trap 'rm -rf "$$trees"' EXIT && python3 tools/situations/kit.py bin/cudacompat trees "$$trees" && \
		go test $(LAZY) -timeout 6h -v -run TestFaults ./matrix -fault-machines 20 -fault-share $(FAULTS) \
			-fault-trees "$$trees" $(if $(SEED),-fault-seed $(SEED)) && \
		go test $(LAZY) -timeout 6h -v -run TestNVMLFaults ./probe -fault-machines 20 -fault-share $(FAULTS) \
			-fault-trees "$$trees" $(if $(SEED),-fault-seed $(SEED))

lint:
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	go run ./tools/lint
	go mod tidy -diff
	@go run ./tools/release notice | diff -u NOTICE - || { echo "NOTICE is old: go run ./tools/release notice >NOTICE"; exit 1; }

# The tests use the tables of one day, so that a new release changes none of them.
freeze:
	go run ./tools/release bundle >internal/tables/frozen/tables.new
	mv internal/tables/frozen/tables.new internal/tables/frozen/tables.zip

golden:
	go test $(LAZY) ./data ./probe ./internal/report ./matrix ./cmd/... -update

.PHONY: screen

screen: build
	go run ./tools/screen -o docs/screen.svg bin/cudacompat check example:broken

FUZZTIME ?= 300x

# Each package is built once for all its targets.
fuzz:
	@binary=$$(mktemp) && trap 'rm -f "$$binary"' EXIT && cache=$$(go env GOCACHE)/fuzz/cudacompat && \
	grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r package; do \
		go test -c $(LAZY) -fuzz . -o "$$binary" $$package || exit 1; \
		grep -ho '^func Fuzz[A-Za-z]*' $$package/*_test.go | cut -d ' ' -f 2 | while read -r target; do \
			echo "$$package $$target"; \
			(cd $$package && "$$binary" -test.run none -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzminimizetime 10x -test.fuzzcachedir "$$cache/$$package") || exit 1; \
		done || exit 1; \
	done

MINUTES ?= 1

.PHONY: torture

# NVML names a directory of real driver libraries, as tools/torture/debian.sh fetches them.
torture: build
	go run $(LAZY) ./tools/torture -minutes $(MINUTES) $(if $(SEED),-seed $(SEED)) $(if $(NVML),-nvml $(NVML)) bin/cudacompat

VULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: vulncheck

vulncheck:
	go run $(VULNCHECK) $(if $(VULNDB),-db file://$(abspath $(VULNDB))) ./cmd/cudacompat

# BENCH_TORCH names an environment with a real torch, BENCH_IMAGE the directory of an OCI layout, BENCH_RIVALS an environment
# with other programs; what needs one that is not named is skipped.
situations: build
	python3 tools/situations/kit.py bin/cudacompat

uses: build
	python3 tools/situations/uses.py bin/cudacompat

# SITUATIONS_WHEELS=DIR keeps the installed wheels for the next run.
machines: build
	python3 tools/situations/kit.py bin/cudacompat record matrix/testdata

gpu: build
	go run $(LAZY) ./tools/ongpu -tool bin/cudacompat -o gpu-report.md

bench: build
	go run ./tools/bench
	FATBIN_LIB=$$(ls $$BENCH_TORCH/lib/python3*/site-packages/torch/lib/libtorch_cuda.so 2>/dev/null) \
		go test $(LAZY) -run none -bench . -benchtime 40x ./internal/fatbin

# Renames the module to the path of its owner's repository, so that go install PATH/cmd/cudacompat@latest works.
rename:
	@[ -n "$(MODULE)" ] || { echo "which path? make rename MODULE=github.com/OWNER/cudacompat"; exit 1; }
	go mod edit -module $(MODULE)
	grep -rl --include='*.go' '"cudacompat/' . | xargs sed -i -E 's,^(\s*(import )?(\w+ )?)"cudacompat(/[^"]*"),\1"$(MODULE)\4,'
	gofmt -w .
	go mod tidy
	$(MAKE) test

clean:
	rm -rf bin

FORCE:

.PHONY: site site-test

# SITE is where the site will be (https://…), for its sitemap and canonical addresses; REPOSITORY is where the project is.
site: build bin/engine.wasm
	go run ./tools/site -o dist/site -site '$(SITE)' -repository '$(REPOSITORY)' \
		-engine bin/engine.wasm -loader "$$(go env GOROOT)/lib/wasm/wasm_exec.js"

# The engine of the site's pages. Without inlining in our own packages it is 0.3 MB smaller when compressed, and as fast,
# because the standard library takes most of the time.
bin/engine.wasm: FORCE
	GOOS=js GOARCH=wasm CGO_ENABLED=0 go build -trimpath '-gcflags=cudacompat/...=-l' '-ldflags=-s -w$(if $(SITE), -X main.site=$(SITE))' -o $@ ./cmd/cudacompat

# Needs node, npm and a Chromium (CHROMIUM=PATH, else the one on PATH).
site-test: site
	tools/site/test.sh dist/site bin/cudacompat

.PHONY: paste-test

# CASES names directories with more cases, in files of one JSON object a line.
paste-test: site
	go run ./tools/site/texts $(CASES) >dist/texts.jsonl
	node tools/site/paste_test.js dist/site bin/cudacompat dist/texts.jsonl
