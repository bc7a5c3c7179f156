package lab

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The dot of the map moves with the arrow keys and the pointer. The badges, the picture and the link follow it.
func browserMap(t *testing.T, ctx context.Context, address string) {
	counts, err := parseMap(mapText)
	noError(t, err)
	p := open(t, ctx, address, 1440, 900)
	p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}))
	p.visit("")
	check := func(how string, policy, row, column int) {
		t.Helper()
		if got, want := p.text(`document.querySelector(".map .dot").getAttribute("aria-valuetext")`), dotText(counts[policy], row, column); got != want {
			t.Errorf("%s: the dot is at %q, want %q", how, got, want)
		}
		for i := range mapPolicies() {
			if got, want := p.text(fmt.Sprintf(`document.querySelectorAll(".badge")[%d].textContent`, i)), safeText(counts[i][row]); got != want {
				t.Errorf("%s: badge %d is %q, want %q", how, i, got, want)
			}
		}
		run, err := mapScene(t.Context(), mapState(policy, row, column))
		noError(t, err)
		p.run(chromedp.Poll(fmt.Sprintf(`document.querySelector("#map .verdict").textContent.startsWith(%q) && document.querySelector("#map svg.scene").getAttribute("aria-label") === %q`, run.verdict, run.label()), nil,
			patience))
		link := p.text(`document.querySelector(".to-lab").search.slice(1)`)
		if want := mapState(policy, row, column).Query().Encode(); !sameState(t, link, want) {
			t.Errorf("%s: the link is %s, want %s", how, link, want)
		}
	}
	row, column := slices.Index(mapStalls, 5*time.Second), 15
	check("at first", mapPolicy, row, column)
	p.run(chromedp.Focus(".map .dot", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowLeft))
	check("with the keys", mapPolicy, row-2, column-1)
	p.run(chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowLeft))
	check("at the edge", mapPolicy, row-2, 0)
	var at struct{ X, Y float64 }
	p.eval(fmt.Sprintf(`(() => {
		const svg = document.querySelector(".map");
		svg.scrollIntoView({block: "center"});
		const box = svg.getBoundingClientRect(), scale = box.width / 480;
		return {x: box.left + scale * %d, y: box.top + scale * %d};
	})()`, mapLeft+3*cellWidth+cellWidth/2, mapTop+cellHeight/2), &at)
	p.run(chromedp.MouseClickXY(at.X, at.Y))
	check("with the pointer", mapPolicy, len(mapStalls)-1, 3)
	p.run(chromedp.Evaluate(`document.querySelectorAll("#map input")[2].click()`, nil))
	check("with another policy", 2, len(mapStalls)-1, 3)
	p.expect("the map", `[...document.querySelectorAll(".map .cells")].filter((c) => getComputedStyle(c).display !== "none").map((c) => c.getAttribute("class")).join()`, "cells cells-2")
	p.clean()
}

// sameState reports whether two queries lead to the same state.
func sameState(t *testing.T, a, b string) bool {
	t.Helper()
	both := []string{}
	for _, query := range []string{a, b} {
		values, err := url.ParseQuery(query)
		noError(t, err)
		s, problems := ParseState(values)
		if problems != nil {
			t.Errorf("%s: %+v", query, problems)
		}
		both = append(both, s.Query().Encode())
	}
	return both[0] == both[1]
}
