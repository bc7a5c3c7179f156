# The targets call the same commands as .ci/run.
SOAK     ?= 10000
SOAKTIME ?= 60s

.PHONY: test lint race fuzz soak examples verify ci bench bench-quick bench-check bench-others release

test lint race fuzz examples verify: ## a step of .ci/run
	bash .ci/run $@

ci: ## everything that must hold before a change lands
	bash .ci/run

bench: ## the library's own benchmarks
	go test -run '^$$' -bench . -benchmem ./...

soak: ## the mock clock example SOAK times on one and two processors, and MapRetry under cancels and panics for SOAKTIME
	cd examples && go test -race -cpu=1,2 -count=$(SOAK) ./mockclock
	go test -race -run TestMapRetry_Soak ./operators -args -soak=$(SOAKTIME)

bench-quick bench-check: ## beside other libraries: in under two minutes; against the committed ratios
	$(MAKE) -C benchmarks $@

bench-others: ## beside other libraries, about eight minutes on a quiet machine: RESULTS.md and the README's charts
	$(MAKE) -C benchmarks bench

release: ## all modules at VERSION, as a commit with tags in dist/, and what remains to be done; it does not push
	cd .ci/release && GOWORK=off go run . $(VERSION)
