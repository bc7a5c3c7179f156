module github.com/retrywhen/retrywhen/cmd/retrywhen

go 1.26.0

require (
	github.com/agnivade/levenshtein v1.2.1
	github.com/chromedp/cdproto v0.0.0-20260321001828-e3e3800016bc
	github.com/chromedp/chromedp v0.15.1
	github.com/retrywhen/retrywhen v0.0.0
	github.com/retrywhen/retrywhen/sim v0.0.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.46.0
)

require (
	github.com/chromedp/sysutil v1.1.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260214004413-d219187c3433 // indirect
	github.com/gobwas/httphead v0.1.0 // indirect
	github.com/gobwas/pool v0.2.1 // indirect
	github.com/gobwas/ws v1.4.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
)

replace (
	github.com/retrywhen/retrywhen => ../../
	github.com/retrywhen/retrywhen/sim => ../../sim
)
