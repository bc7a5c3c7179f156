# The targets run the same commands as .ci/run.
SOAK     ?= 10000
SOAKTIME ?= 60s

.PHONY: test lint race fuzz soak attack examples verify ci nightly bench bench-quick bench-check bench-own site release

test lint race fuzz examples verify: ## a step of .ci/run
	bash .ci/run $@

ci: ## must be green before a change lands
	bash .ci/run

nightly: ## the rest: what takes longer or needs servers from Debian
	bash .ci/run nightly

soak: ## the mock clock example SOAK times on one and two processors; MapRetry with cancellations and panics for SOAKTIME
	cd examples && go test -race -cpu=1,2 -count=$(SOAK) ./mockclock
	go test -race -run TestMapRetry_Soak ./operators -args -soak=$(SOAKTIME)

attack: ## long tests of the durable queue: kills, stops, restarts, a silent network, a full disk
	bash .ci/run attack

bench: ## the comparison with other libraries, about nine minutes on a quiet machine: benchmarks/RESULTS.md
bench-quick: ## a short version, under two minutes, which writes no files
bench-check: ## measures the ratios of RESULTS.md again: none may exceed 1.15 times the old one, in a noisy run 1.3 times
bench bench-quick bench-check:
	$(MAKE) -C benchmarks $@

bench-own: ## this library's own benchmarks
	go test -run '^$$' -bench . -benchmem ./...

site: ## writes the lab and the docs' pictures to dist/site, for any web server
	cd cmd/retrywhen && go run ./internal/lab/site ../../dist/site

release: ## prepares all modules at VERSION, as a commit with tags in dist/, and prints the remaining steps; it does not push
	bash .ci/release $(VERSION)
