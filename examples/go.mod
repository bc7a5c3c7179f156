module github.com/retrywhen/retrywhen/examples

go 1.26.0

require (
	github.com/benbjohnson/clock v1.3.5
	github.com/reactivex/rxgo/v2 v2.5.0
	github.com/retrywhen/retrywhen v0.0.0
	github.com/schollz/progressbar/v3 v3.19.0
	github.com/tmaxmax/go-sse v0.11.0
	go.uber.org/goleak v1.3.0
	golang.org/x/term v0.46.0
)

require (
	github.com/cenkalti/backoff/v4 v4.0.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/emirpasic/gods v1.12.0 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/stretchr/objx v0.5.2 // indirect
	github.com/stretchr/testify v1.11.1 // indirect
	github.com/teivah/onecontext v0.0.0-20200513185103-40f981bfd775 // indirect
	golang.org/x/sys v0.48.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/retrywhen/retrywhen => ../
