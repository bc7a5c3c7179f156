package virtual

import (
	"fmt"
	"slices"
	"strings"
)

// others returns the goroutines of a bubble, without the given ones and those of the testing package.
func others(bubble int, without ...int) []Goroutine {
	return slices.DeleteFunc(InBubble(bubble), func(g Goroutine) bool { return g.machinery() || slices.Contains(without, g.ID) })
}

// machinery reports whether g belongs to the testing package's part of a bubble and runs no code of the test.
func (g Goroutine) machinery() bool {
	return slices.ContainsFunc(g.Calls, func(c Call) bool {
		return c.Function == "internal/synctest.Run" || c.Function == "testing/synctest.testingSynctestTest"
	})
}

// String returns what g waits for, where, and where g was started.
func (g Goroutine) String() string {
	text := fmt.Sprintf("goroutine %d [%s]", g.ID, g.State) + lines(slices.DeleteFunc(slices.Clone(g.Calls), func(c Call) bool {
		return plumbing(c) || packageOf(c.Function) == "time"
	}))
	if by := g.StartedBy; by.Function != "" && !strings.HasPrefix(by.Function, "testing") {
		text += "\n        started by " + shortFunc(by.Function) + "  " + shortFile(by.Place)
	}
	return text
}

// Start returns the function with which g began, "" if it has ended.
func (g Goroutine) Start() string {
	if len(g.Calls) == 0 {
		return ""
	}
	return g.Calls[len(g.Calls)-1].Function
}

// Place returns where in the code under test g is: in which call outside of the standard library, or who started it.
func (g Goroutine) Place() string {
	where := func(c Call) string { return shortFunc(c.Function) + " at " + shortFile(c.Place) }
	i := slices.IndexFunc(g.Calls, func(c Call) bool { return !strings.HasPrefix(c.Place, standard) && !plumbing(c) })
	switch {
	case i >= 0:
		return where(g.Calls[i])
	case g.StartedBy.Function != "" && !plumbing(g.StartedBy):
		return "started by " + where(g.StartedBy)
	case len(g.Calls) > 0:
		return where(g.Calls[0])
	}
	return ""
}

// Places returns the different places of goroutines.
func Places(all []Goroutine) (places []string) {
	for _, g := range all {
		places = append(places, g.Place())
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// List writes one item after another, indented.
func List[T fmt.Stringer](items []T) (text string) {
	for _, item := range items {
		text += "\n    " + item.String()
	}
	return text
}

// Reads reports whether g reads a connection of reconnecttest's.
func (g Goroutine) Reads() bool { return g.isIn(").Read") }

// isIn reports whether g is in a call of reconnecttest's whose name ends so.
func (g Goroutine) isIn(name string) bool {
	return slices.ContainsFunc(g.Calls, func(c Call) bool {
		return folder(c) == "reconnecttest" && strings.HasSuffix(c.Function, name)
	})
}

// Waits returns what goroutines wait for, and where.
func Waits(all []Goroutine) (waits []string) {
	for _, g := range all {
		doing, ok := map[string]string{"sleep": "asleep", "select": "selects", "chan receive": "receives", "chan send": "sends", "running": "runs", "runnable": "runs"}[g.State]
		if !ok {
			doing = "waits [" + g.State + "]"
		}
		if g.Reads() {
			doing = "reads"
		}
		if !g.isIn(").dial") {
			waits = append(waits, doing+" in "+g.Place())
		}
	}
	slices.Sort(waits)
	return slices.Compact(waits)
}
