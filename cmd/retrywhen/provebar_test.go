package main

import (
	"bytes"
	"testing"
)

func TestProveBar(t *testing.T) {
	t.Setenv("COLUMNS", "50")
	var out bytes.Buffer
	b := &bar{out: &out, terminal: true}
	b.show(0, 4)
	b.show(1, 4)
	b.print("lost: something")
	b.show(4, 4)
	b.clear()
	const line = "\r\x1b[K"
	want := line + "0 of 4 scenarios, 0 findings   0 % [             ]" + line + "1 of 4 scenarios, 0 findings  25 % [===          ]" +
		line + "lost: something\n" + line + "1 of 4 scenarios, 0 findings  25 % [===          ]" +
		line + "4 of 4 scenarios, 1 finding 100 % [==============]" + line
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
	var nothing bytes.Buffer
	plain := newBar(&nothing)
	plain.show(1, 2)
	plain.print("lost: something")
	plain.clear()
	if nothing.String() != "lost: something\n" {
		t.Errorf("without a terminal %q", nothing.String())
	}
}
