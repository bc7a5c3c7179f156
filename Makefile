# The targets call the same commands as .ci/run.
SOAK     ?= 10000
SOAKTIME ?= 60s

.PHONY: test lint race fuzz soak attack examples verify ci nightly bench bench-quick bench-check bench-own site release

test lint race fuzz examples verify: ## a step of .ci/run
	bash .ci/run $@

ci: ## what must hold before a change lands
	bash .ci/run

nightly: ## what takes longer, or needs servers from Debian
	bash .ci/run nightly

soak: ## the mock clock example SOAK times on one and two processors, and MapRetry under cancels and panics for SOAKTIME
	cd examples && go test -race -cpu=1,2 -count=$(SOAK) ./mockclock
	go test -race -run TestMapRetry_Soak ./operators -args -soak=$(SOAKTIME)

attack: ## the durable queue under kills, stops, restarts, a silent network and a full disk, at length
	bash .ci/run attack

bench: ## beside other libraries, about nine minutes on a quiet machine: benchmarks/RESULTS.md and the README's charts
bench-quick: ## less of it, in under two minutes, to look at
bench-check: ## the ratios of RESULTS.md again: none may have grown by 1.3 times
bench bench-quick bench-check:
	$(MAKE) -C benchmarks $@

bench-own: ## this library's own benchmarks
	go test -run '^$$' -bench . -benchmem ./...

site: ## the lab and the docs' pictures as a folder for any web server: dist/site
	cd cmd/retrywhen && go run ./lab/site ../../dist/site

release: ## all modules at VERSION, as a commit with tags in dist/, and what remains to be done; it does not push
	bash .ci/release $(VERSION)
