module github.com/retrywhen/retrywhen

go 1.26.0

require (
	github.com/benbjohnson/clock v1.3.5
	github.com/cenkalti/backoff/v4 v4.0.0
	github.com/reactivex/rxgo/v2 v2.5.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.2.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/emirpasic/gods v1.12.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/stretchr/objx v0.5.2 // indirect
	github.com/stretchr/testify v1.11.1 // indirect
	github.com/teivah/onecontext v0.0.0-20200513185103-40f981bfd775 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
