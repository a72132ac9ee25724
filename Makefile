# Only Go 1.26 is needed. A C compiler, where there is one, adds the race detector to the tests.
GO       ?= go
FUZZTIME ?= 30s
RACE     := $(shell command -v "$$($(GO) env CC 2>/dev/null)" >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)
LINT      = $(GO) tool -modfile=.ci/tools.mod staticcheck

.PHONY: help test build demo check fuzz bench crash large cheaters gen need-go
.DEFAULT_GOAL := help

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: need-go ## check the form, the floors and walls, and run every test
	@$(MAKE) --no-print-directory form
	@CGO_ENABLED=$(if $(RACE),1,0) $(GO) test $(RACE) ./...

build: need-go ## build bin/assay (bin/thirtyspokes-dev is the same program)
	@CGO_ENABLED=0 $(GO) build -trimpath -o bin/assay ./cmd/assay
	@ln -sf assay bin/thirtyspokes-dev

demo: build ## run the dev kit on the embedded world: no network, no money
	@bin/assay conductor dev --conductor builtin:cascade

check: need-go form ## gofmt, vet, staticcheck, floors and walls
	@$(LINT) ./...
	@$(GO) test -run Architecture .

.PHONY: form
form:
	@bad=$$(gofmt -l $$(find . -name '*.go' -not -path './.*' -not -path '*/testdata/*')); \
	  [ -z "$$bad" ] || { echo "gofmt would change:"; echo "$$bad"; exit 1; }
	@CGO_ENABLED=0 $(GO) vet ./...

fuzz: need-go ## fuzz every parser, FUZZTIME (30s) each
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" sh .ci/fuzz

bench: need-go ## measure end to end, then run every benchmark
	@$(GO) run ./bench
	@cd bench/tlog && $(GO) test ./... && $(GO) run .
	@$(GO) test -run '^$$' -bench . -benchmem ./...

crash: need-go ## kill an owner at every one of its writes (about half an hour)
	@ASSAY_CRASH_ALL=1 $(GO) test -v -count=1 -timeout 3h -run TestKilledAtEveryWrite ./test/league

large: need-go ## play, cut, resume, audit and open a window of 200,000 tasks (minutes; LEAGUE_DIR names a disk)
	@LEAGUE_LARGE=200000 $(GO) test -run '^$$' -bench LargeWindow -benchtime 1x -timeout 1h ./test/league

cheaters: need-go ## play the table of cheating policies over 10,000 windows and write docs/cheaters.md
	@$(GO) run ./bench/cheaters -world ../shared/data/routerarena -out docs/cheaters.md

gen: need-go ## write generated files again
	@$(GO) generate ./...

need-go:
	@case "$$($(GO) env GOVERSION 2>/dev/null)" in \
	  go1.2[6-9]*|go1.[3-9][0-9]*) ;; \
	  *) echo "Go 1.26 or newer is needed; install it from https://go.dev/dl/ and put its bin folder on the PATH" >&2; exit 1;; \
	esac
