package streamtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// alphabet finds letters for values, and remembers the ones that need an explanation.
type alphabet[T any] struct {
	letters letters[T]
	used    map[string]bool
	found   []named[T]
	legend  []string
}

type named[T any] struct {
	value  T
	letter string
}

func (a *alphabet[T]) wanted(e event[T], letter string) string {
	if e.kind == value {
		a.explain(letter, e.value)
	}
	return a.symbol(e, letter)
}

func (a *alphabet[T]) got(e event[T], like string) string {
	if e.kind != value {
		return a.symbol(e, "")
	}
	if like != "" {
		return like
	}
	for _, n := range a.found {
		if reflect.DeepEqual(n.value, e.value) {
			return n.letter
		}
	}
	letter := a.letterFor(e.value)
	a.explain(letter, e.value)
	return letter
}

func (a *alphabet[T]) symbol(e event[T], letter string) string {
	switch e.kind {
	case ended:
		return "|"
	case failed:
		return "#"
	}
	return letter
}

// letterFor returns the letter of a value, or one that is free.
func (a *alphabet[T]) letterFor(v T) string {
	for _, k := range slices.Sorted(maps.Keys(a.letters.values)) {
		if reflect.DeepEqual(a.letters.values[k], v) {
			return k
		}
	}
	if text := fmt.Sprint(v); isLetter(text) && !a.taken(text) {
		if _, other := a.letters.values[text]; !other {
			return text
		}
	}
	for r := 'A'; r <= 'Z'; r++ {
		if letter := string(r); !a.used[letter] {
			if _, taken := a.letters.values[letter]; !taken {
				return letter
			}
		}
	}
	return "?"
}

// taken reports whether a letter has been found for a value.
func (a *alphabet[T]) taken(letter string) bool {
	return slices.ContainsFunc(a.found, func(n named[T]) bool { return n.letter == letter })
}

// explain puts a letter into the legend, unless it stands for itself.
func (a *alphabet[T]) explain(letter string, v T) {
	for _, n := range a.found {
		if n.letter == letter && reflect.DeepEqual(n.value, v) {
			return
		}
	}
	a.used[letter] = true
	a.found = append(a.found, named[T]{v, letter})
	if fmt.Sprint(v) != letter {
		a.legend = append(a.legend, fmt.Sprintf("%s = %s", letter, show(v)))
	}
}
