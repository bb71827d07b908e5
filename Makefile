# Targets print what they do with `make help`. Everything here needs Go, make
# and gcc (for the race detector); modules come from the Go module proxy.

GO      ?= go
PKGS    ?= ./...
FUZZ    ?= 60s
ONLY    ?=
READS   ?= 1000000
WRITES  ?= 100000
PROGRAMS ?= 1000
SHELL   := /bin/bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: help build test test-reports check format format-check lint vet-all race rego docs docs-check bench soak fuzz clean

help: ## print this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

build: ## build bin/runlens, bin/runlens-openai and bin/runlens-sandbox, without C, which only costs memory
	CGO_ENABLED=0 $(GO) build -o bin/ ./cmd/...

test: ## run the Go and the Rego tests
	$(GO) test $(PKGS)
	$(GO) tool opa test policies/

check: format-check lint vet-all rego docs-check test test-reports race ## all that CI checks

format: ## format Go and Rego
	$(GO) tool gofumpt -w $$(git ls-files '*.go')
	$(GO) tool opa fmt -w policies

format-check: ## fail on unformatted Go or Rego
	@files=$$($(GO) tool gofumpt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "not formatted (make format):"; echo "$$files"; exit 1; fi
	$(GO) tool opa fmt --diff --fail policies

lint: ## tidy module file, vet and staticcheck
	$(GO) mod tidy -diff
	$(GO) vet $(PKGS)
	$(GO) tool staticcheck $(PKGS)

vet-all: ## compile and vet for macOS and Windows, tests too
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=windows GOARCH=amd64 $(GO) vet ./...

rego: ## strict check, tests, golden cases and full coverage of the shipped policies
	$(GO) tool opa check --strict --schema schemas/input.json policies
	$(GO) tool opa test policies/
	$(GO) tool opa test --coverage --threshold 100 policies/ >/dev/null
	@out=$$($(GO) run ./cmd/runlens test --coverage --threshold 100) || { echo "$$out"; exit 1; }; tail -1 <<< "$$out"

test-reports: build ## hold JUnit and SARIF reports to their schemas (needs Node)
	npm ci --prefix test/reports --ignore-scripts --no-audit --no-fund --silent
	node test/reports/check.mjs bin/runlens

race: ## Go tests under the race detector
	$(GO) test -race -timeout 30m $(PKGS)

docs: ## write the generated pages
	$(GO) run ./cmd/runlens policy codes --format markdown > docs/reason-codes.md.new && mv docs/reason-codes.md.new docs/reason-codes.md
	$(GO) run ./cmd/runlens policy input --format markdown > docs/input.md.new && mv docs/input.md.new docs/input.md

docs-check: ## fail when a generated page is stale
	@$(GO) run ./cmd/runlens policy codes --format markdown | diff -u docs/reason-codes.md - || { echo "docs/reason-codes.md is stale: make docs"; exit 1; }
	@$(GO) run ./cmd/runlens policy input --format markdown | diff -u docs/input.md - || { echo "docs/input.md is stale: make docs"; exit 1; }

bench: build ## benchmarks, with ratios against baselines of the same run; ONLY=longrun for a part of them
	CGO_ENABLED=0 $(GO) build -o bin/opa github.com/open-policy-agent/opa
	$(GO) run ./test/bench -only '$(ONLY)'

soak: ## reads and writes against a thread that swaps links and directories; programs that hang, fork and flood in sandboxes
	$(GO) test ./internal/resolve -run Soak -timeout 60m -v -soak.reads=$(READS) -soak.writes=$(WRITES)
	$(GO) test ./internal/executor -run SandboxSoak -timeout 60m -v -soak=$(PROGRAMS)

fuzz: ## each fuzz target for FUZZ (60s)
	@for pkg in $$($(GO) list ./...); do \
	  targets=$$($(GO) test -list '^Fuzz' $$pkg); \
	  for target in $$(sed -n '/^Fuzz/p' <<< "$$targets"); do \
	    echo "fuzz $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ) -fuzzminimizetime 1x -parallel 2 $$pkg; \
	  done; done

clean: ## remove what was built
	rm -rf bin
