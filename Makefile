# The targets call the same commands as .ci/run.
SOAK     ?= 10000
SOAKTIME ?= 60s

.PHONY: test lint race fuzz soak examples bench ci

test lint race fuzz examples: ## a step of .ci/run
	bash .ci/run $@

ci: ## everything that must hold before a change lands
	bash .ci/run

bench: ## the library's own benchmarks
	go test -run '^$$' -bench . -benchmem ./...

soak: ## the mock clock example SOAK times on one and two processors
	cd examples && go test -race -cpu=1,2 -count=$(SOAK) ./mockclock
