module github.com/retrywhen/retrywhen/examples

go 1.26.0

require (
	github.com/retrywhen/retrywhen v0.0.0
	github.com/schollz/progressbar/v3 v3.19.0
	github.com/tmaxmax/go-sse v0.11.0
	go.uber.org/goleak v1.3.0
	golang.org/x/term v0.46.0
)

require (
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace github.com/retrywhen/retrywhen => ../
