//go:build js && wasm

// Wasm computes the lab page's numbers in the browser, for a page without a server. The page's worker runs it. It
// defines the function retrywhen(kind, query, done), which calls done with JSON: {"result": …} or {"error": "…"}.
package main

import (
	"context"
	"encoding/json"
	"syscall/js"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
)

func main() {
	js.Global().Set("retrywhen", js.FuncOf(func(_ js.Value, args []js.Value) any {
		kind, query, done := args[0].String(), args[1].String(), args[2]
		go func() { done.Invoke(compute(kind, query)) }()
		return nil
	}))
	js.Global().Call("ready")
	select {} // it ends with the page
}

func compute(kind, query string) string {
	var reply struct {
		Result any    `json:"result,omitempty"`
		Error  string `json:"error,omitempty"`
	}
	var err error
	ctx, cancel := lab.Limited(context.Background(), kind)
	defer cancel()
	if reply.Result, err = lab.Numbers(ctx, kind, query); err != nil {
		reply.Error = err.Error()
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return `{"error": "the numbers cannot be encoded as JSON"}`
	}
	return string(text)
}
