GO ?= go
GOLANGCI_VERSION := v2.15.0
BIN := $(CURDIR)/bin
# The linter takes minutes to compile: it is kept for other clones.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weir/tools
LINTER = $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)-$(shell $(GO) env GOVERSION)
KILLS ?= 12
LOAD ?= 60
SHIFTS ?= -400d +400d
# What only computes takes most of a raced run and has no race of ours: SQLite's translated C, whose driver, in Go, stays
# instrumented, and ciphers.
COMPUTES := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory crypto/internal/... math/big
RACE := -race -vet=off -timeout 30m $(foreach c,$(COMPUTES),-gcflags=$(c)=-race=false)
CHECKS := tidy words lint race sdk deploy-check release-check clocks crash attacks node browser vocabularies

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show what there is
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/weir
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o $(BIN)/weir ./cmd/weir

.PHONY: test
test: ## Run the tests, as a newcomer does
	$(GO) test ./...

# The packages whose state many requests share are raced with all their tests, but for those that worktest.NotRaced leaves
# to "go test ./...".
RACED := account answercache budget capacity contentlog credential fairqueue gateway httpserver ledger lifetime mcp mcp/stdio provider ratelimit \
	realtime refusal route simulator socket telemetry toolloop webhook websocket
# Of the store and from end to end: the tests with many clients or nodes at once, with a client, a provider or a machine that
# leaves, is slow or fails in the middle, and with changes beside requests. The others ask one thing after the other, by the
# same goroutines. The store's code is the same on both databases, and starts no goroutine: it is raced on SQLite.
AT_ONCE := AbortedGenerations AdministrationOnceAtOnce AttributionDuringSettlements BudgetPerTag BudgetRace \
	CertificateChanges ChangesFromElsewhere ClientLeaves ClientThatReadsNothing ClientsThatDoNotRead ConcurrencyLimit \
	CorrectionDuringClosingLeavesNoUser CorrectionsReachRunningBudgets CutAuditLogNeedsHead DisablingHoldsNoEndpoints \
	DiskFull DrainReadsAnswerToItsEnd DrainsAreBounded EdgesStayWithinBudget FaultsCostNoLessThanProvider FeedIsWhole FilesAtOnce GracefulStop \
	GreedyStreams HangUpsAtAnyTime IdempotencyConflicts IdempotentReplay IdleBodiesHoldNothing ImportAtOnce InterruptedResponseCostsItsPart KeepAlive \
	KeepAliveWhileFallingBack KeyRevokedBeforeTheBody LateAnswer LeavesBeforeUsage LimitsOnValkey \
	ManagedConfigurationReachesNodes ManyClientsLeave OpenAtOnce OverloadOfBatch OverloadedNodeRefuses OwnCircuit \
	OwnCounterIsUsedOnce PackingDuringSettlements ProbeThatTakesLong ReloadWhileRunning RepeatsOfALateAnswer \
	ReplayedResponseIsContinued ReportsLeaveReaders RescueContinuesBrokenStream RetryStorm SessionsEndWithinBudget SlowSenders StreamFailures \
	StreamToTheLetter TogetherBatchesWrites TwoNodes UnreadBodyIsNotAwaited WebhooksOfABudget ZombieConnectionAppliesOnce
CONFORMANCE := AuditWriters Bootstrap KeptTogether Leases RecoverMany SecondFactor Takers Throttle Writers .*AtOnce
empty :=
any = ($(subst $(empty) $(empty),|,$(strip $(1))))

.PHONY: race
race: export CGO_ENABLED := 1
race: ## Run the tests of what happens at once with the race detector
	$(GO) test $(RACE) $(addprefix ./internal/,$(RACED))
	$(GO) test $(RACE) -parallel 4 -skip '^Test/^PostgreSQL$$' -run '^Test$(call any,$(AT_ONCE))$$|^TestConformance$$/^SQLite$$/^$(call any,$(CONFORMANCE))$$' \
		$(addprefix ./internal/,store dashboard $(addprefix e2e/,admin budget chat faults hostile realtime))

# The linter keeps what it found, apart for packages with and without C. It looks at the format of what is compiled
# here: these are the files for other systems and tags.
IGNORED := '{{$$dir := .Dir}}{{range .IgnoredGoFiles}}{{$$dir}}/{{.}} {{end}}'
.PHONY: lint
lint: export CGO_ENABLED := 0
lint: $(LINTER) ## Run the linters, go vet among them, and the formatters' checks
	$(LINTER) run
	cd sdk/go && $(LINTER) run
	cd deploy/check && $(LINTER) run
	cd release && $(LINTER) run
	$(LINTER) fmt --diff $(foreach m,. sdk/go deploy/check release,$$($(GO) -C $m list -f $(IGNORED) ./...))

$(LINTER):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/golangci-lint $@

.PHONY: tidy
tidy: ## Check that go.mod is current, and those of the modules beside it
	# Of go.mod alone: which sums a dependency's own tests need depends on what
	# can be downloaded today, and a sum that is needed and missing ends a build.
	for module in . sdk/go deploy/check release; do \
		! $(GO) -C $$module mod tidy -e -diff | sed '/^diff current.go.sum/,$$d' | grep . || exit 1; \
	done
	$(GO) mod verify

.PHONY: crash
crash: ## Kill the gateway KILLS times under load, with 12 at every named point, and take what it needs: database, primary, Valkey
	$(GO) test ./internal/crashtest -count=1 -v -timeout 20m -nodes.outages -crash.kills=$(KILLS) \
		-run 'TestCrash$$|TestRolling|TestNodes/All/(Limit|Rest)/(Stopped|Failover|Restored|Valkey)'

.PHONY: hostile
hostile: ## Attack a gateway with hostile clients, providers and requests beside good ones, on a quiet machine
	$(GO) test ./internal/hostiletest -count=1 -v -timeout 20m -hostile.long -hostile.strict

.PHONY: attacks
attacks: ## Make the attacks of hostile, those without a length of their own shorter, and judge no time
	$(GO) test ./internal/hostiletest -count=1 -v -timeout 20m -parallel 3 -hostile.long -hostile.time=1s

# The conformance tests whose data expires, is due, in turn or deleted by time: TestOneStatementReadsTheClock holds that no
# statement but that of the store's clock reads the server's. Of limits, what asks no server is left to the run with right
# clocks.
TIMED := Arrive Attribution Balances Bootstrap CreditAtOnce Deliveries EndpointFares Everybody Expiring Idempotency.* Kept.* Lease.* \
	Links Lowered Nodes Once Passed PeopleSessions Position Recover Response.* Retain.* SecondFactor SetupToken Stale Takers \
	Throttle TriesKept UsageDaily Wanted Webhooks Woken WrongClock
.PHONY: clocks
clocks: ## Test the store and limits with servers whose clocks are wrong by SHIFTS (Debian's libfaketime)
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && $(GO) test -c -o "$$dir/" ./internal/store ./internal/ratelimit && \
	for shift in $(SHIFTS); do \
		echo "== clocks of servers shifted by $$shift"; \
		export WEIR_TEST_CLOCK_SHIFT=$$shift; \
		(cd internal/store && "$$dir/store.test" -test.timeout 10m -test.parallel 4 \
			-test.run '^TestConformance$$/^PostgreSQL$$/^$(call any,$(TIMED))$$|^TestNodeWithWrongClock$$') && \
		(cd internal/ratelimit && "$$dir/ratelimit.test" -test.timeout 10m -test.skip TestRejectedOnAverage) || exit 1; \
	done

.PHONY: soak
soak: nodes overload ## Repeat at length, on a quiet machine, what CI does once: hours
	$(GO) test ./internal/crashtest -count=1 -v -timeout 2h -run 'TestCrash|TestWebhooks' -crash.kills=300 -webhooks.events=10000
	$(GO) test ./internal/crashtest -count=1 -v -timeout 1h -run 'TestConfigKilled|TestImportKilled' -config.kills=50
	$(GO) test ./internal/crashtest -count=1 -v -timeout 1h -run 'TestSoak' -soak.time=30m
	$(GO) test ./internal/crashtest -count=1 -v -timeout 1h -run 'TestTakeover|TestRolling' -nodes.outages -takeover.count=20 -takeover.streams=200
	$(GO) test ./internal/store -count=1 -v -timeout 1h -run TestMigrationKilled -migrate.rows=1000000
	$(GO) test ./internal/store -count=1 -v -timeout 1h -run TestRollupsMatchModel -rapid.checks=3000
	$(GO) test ./internal/ledger -count=1 -v -timeout 1h -run Simulation -sim.seeds=50000 -budget.seeds=5000
	$(GO) test ./internal/schematest -count=1 -timeout 2h -pairs=20000 -seeds=20000
	$(GO) test ./internal/hostiletest -count=1 -v -timeout 1h -hostile.long -hostile.strict -hostile.time=20s
	$(MAKE) fuzz FUZZTIME=5m

.PHONY: nodes
nodes: ## Break three gateways over one database, and what they share, at length
	$(GO) test ./internal/crashtest -count=1 -v -timeout 40m -run 'TestNodes' -nodes.long

.PHONY: overload
overload: ## Give a gateway three times what it can do, for LOAD seconds each
	$(GO) test ./internal/loadtest -count=1 -v -timeout 30m -load.strict -load.seconds=$(LOAD)

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME each
	./.ci/fuzz $(or $(FUZZTIME),10s)

.PHONY: bench
bench: ## Measure: Go benchmarks, then the gateway beside nginx; with BASE=path, beside another build, in turns
ifdef BASE
	$(GO) run ./bench turns --base $(BASE)
else
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...
	$(GO) run ./bench run
endif

.PHONY: prices
prices: ## Take the newest prices and abilities of models, and test them
	$(GO) generate ./internal/pricing
	$(GO) test ./internal/pricing
	$(MAKE) docs

.PHONY: docs
docs: ## Write the pages about providers and commands, and what crosses between wire formats and what is left out
	$(GO) test ./internal/provider -count=1 -run TestPagesMatchCatalogue -update
	$(GO) test ./cmd/weir -count=1 -run TestCommandReference -update
	$(GO) test ./internal/dialect -count=1 -run TestCrossingPage -update
	$(GO) test ./internal/schematest -count=1 -run TestRequestsKeepToVendorsRules -update

.PHONY: sdk
sdk: ## Run the SDKs for Go; UPDATE=-update writes docs/compatibility.md
	$(GO) -C sdk/go test $(if $(UPDATE),./gateway -count=1 -run TestCompatibility $(UPDATE),./...)

.PHONY: deploy-check
deploy-check: ## Render, lint and validate the files in deploy/, and chat through nginx, Caddy, HAProxy and Apache
	$(GO) -C deploy/check test -count=1 ./... # what it reads is outside of its module, and so no reason to run it again

.PHONY: release
release: ## Make the files of a release in dist, from a tagged commit; SNAPSHOT=1 from what is there
	$(GO) -C release run . $(if $(SNAPSHOT),-snapshot)

.PHONY: release-check
release-check: ## Make a release twice, compare, and look into it; ALL=1 for all systems, FRESH=1 to compile it anew
	$(GO) -C release test -count=1 -timeout 40m $(if $(ALL)$(FRESH),-v) . $(if $(ALL),-release.targets=all) \
		$(if $(FRESH),-release.fresh)

.PHONY: newcomer
newcomer: ## Walk the documented way from a package to the first budget, and print how long each step takes
	$(GO) -C release run . newcomer

.PHONY: sizes
sizes: ## Print how large the program is with and without symbols, and the largest things in it
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o $(BIN)/weir-with-symbols ./cmd/weir
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "-s -w" -o $(BIN)/weir ./cmd/weir
	ls -l $(BIN)/weir-with-symbols $(BIN)/weir
	$(GO) tool nm -size -sort size $(BIN)/weir-with-symbols | head -30

.PHONY: node
node: ## Run the SDKs for Node against the gateway; UPDATE=--update writes docs/compatibility.md
	cd sdk/node && npm ci --no-progress --loglevel=error && npm test -- $(UPDATE)

.PHONY: conformance
conformance: ## Run the official conformance suite of MCP, servers and clients, through the gateway; UPDATE=1 writes docs/mcp-conformance.md
	node sdk/mcp/start.cjs $(if $(UPDATE),--update)

.PHONY: mcp-clients
mcp-clients: ## Run the MCP Inspector and agents through the gateway, with public servers from npm behind it; ONLY=name for one agent
	node sdk/mcp/start.cjs clients

.PHONY: agents
agents: ## Run agents before strict simulators of vendors; AGENTS='"Claude Code" Codex' and VENDORS=gemini are some, UPDATE=1 writes docs/compatibility.md
	$(if $(PACKAGES),PACKAGES=$(abspath $(PACKAGES))) node sdk/agents/start.cjs $(if $(UPDATE),--update) $(if $(VENDORS),--vendors=$(VENDORS)) $(AGENTS)

.PHONY: answers
answers: ## Take the vendors' published types of answers in the versions of internal/e2e/contract/types, and hold answers to them
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp -r internal/e2e/contract/types/. "$$dir" && cd "$$dir" && \
		npm install --no-progress --loglevel=error && node generate.mjs $(CURDIR)/internal/e2e/contract/testdata/types
	$(GO) test ./internal/e2e/contract -count=1 -run 'Vendors'

.PHONY: schemas
schemas: ## Take the vendors' published schemas of requests, those without a package from DOCUMENTS, and hold requests to them
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp -r internal/schematest/sources/. "$$dir" && cd "$$dir" && \
		npm install --no-progress --loglevel=error && node generate.mjs $(CURDIR)/internal/schematest/testdata $(abspath $(DOCUMENTS))
	$(GO) test ./internal/schematest -count=1 -pairs=$(or $(SEEDS),2000) -seeds=$(or $(SEEDS),2000) -timeout 1h

.PHONY: vocabularies
vocabularies: ## Count by published vocabularies and chat templates, and hold that no bound is below; LONG=1 takes an hour
	cd internal/vocabularytest && npm ci --no-progress --loglevel=error
	$(GO) test ./internal/vocabularytest -count=1 -v -timeout 2h -vocabularies $(if $(LONG),-vocabularies.long)

.PHONY: browser
browser: ## Drive the dashboard in Chromium
	cd internal/browsertest && npm ci --no-progress --loglevel=error
	$(GO) test ./internal/browsertest -count=1 -v -timeout 10m -browser $(if $(SHOTS),-browser.shots=$(abspath $(SHOTS)))

.PHONY: screenshots
screenshots: ## Drive it, and write a picture of every page to SHOTS (default screenshots), and the README's to docs/pictures
	$(MAKE) browser SHOTS=$(or $(SHOTS),screenshots)
	$(GO) test ./internal/browsertest -count=1 -v -timeout 10m -browser.pictures=$(abspath docs/pictures)

.PHONY: shape
shape: ## Print how large functions, files, types and interfaces are
	$(GO) test ./internal -count=1 -v -run TestShapeWithinBounds

.PHONY: words
words: ## Check how plainly comments, documents, test names and commit subjects read; LIST=1 lists what counts
	WEIR_WORDS=$(if $(LIST),list) $(GO) test ./internal -count=1 -v -run TestProseReadsPlainly
	@! git log --since=2026-11-29T06:00Z --format=%s | awk 'length > 72 {print "over 72 characters: " $$0}' | grep .

.PHONY: check
check: $(CHECKS) ## Everything that CI runs

.PHONY: checks
checks: ## Print the names of those
	@echo $(CHECKS)
