package marble

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// legend assigns letters to values.
type legend[T any] struct {
	values map[string]T    // letters that are given
	used   map[string]bool // letters that are in use
	found  []meaning[T]
}

type meaning[T any] struct {
	letter string
	value  T
}

// symbol returns the character for an event: for a value the given letter, or another one if the letter is "".
func (l *legend[T]) symbol(e Event[T], letter string) string {
	switch e.Kind {
	case End:
		return "|"
	case Failure:
		return "#"
	}
	if letter == "" {
		letter = l.letterOf(e.Value)
	}
	l.used[letter] = true
	if m := (meaning[T]{letter, e.Value}); !slices.ContainsFunc(l.found, m.equal) {
		l.found = append(l.found, m)
	}
	return letter
}

func (m meaning[T]) equal(other meaning[T]) bool {
	return m.letter == other.letter && reflect.DeepEqual(m.value, other.value)
}

// letterOf returns the letter of a value, or a free one.
func (l *legend[T]) letterOf(v T) string {
	for _, m := range l.found {
		if reflect.DeepEqual(m.value, v) {
			return m.letter
		}
	}
	for _, k := range slices.Sorted(maps.Keys(l.values)) {
		if reflect.DeepEqual(l.values[k], v) {
			return k
		}
	}
	if text := fmt.Sprint(v); isLetter(text) {
		_, given := l.values[text]
		found := slices.ContainsFunc(l.found, func(m meaning[T]) bool { return m.letter == text })
		if !given && !found {
			return text
		}
	}
	for r := 'A'; r <= 'Z'; r++ {
		letter := string(r)
		if _, given := l.values[letter]; !given && !l.used[letter] {
			return letter
		}
	}
	return "?"
}

// lines explains the letters whose value is not the letter itself.
func (l *legend[T]) lines() (all []string) {
	for _, m := range l.found {
		if fmt.Sprint(m.value) != m.letter {
			all = append(all, fmt.Sprintf("%s = %s", m.letter, Show(m.value)))
		}
	}
	return all
}
