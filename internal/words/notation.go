package words

import (
	"fmt"
	"slices"
	"time"
)

// Notation is how one word of the text form of a T is written and read.
type Notation[T any] struct {
	Name    string
	Example string                              // a value; "" if the word has none
	Format  func(t *T) (value string, set bool) // a word that is not set is not written
	Parse   func(t *T, value string) error      // the error says what is wrong, and what would be right
}

// Of returns the notation of a value that format writes and parse reads. want is the end of parse's error for a value
// of another kind.
func Of[T any](name, example string, format func(*T) (string, bool), parse func(t *T, value, want string) error) Notation[T] {
	want := Want(name, example)
	return Notation[T]{name, example, format, func(t *T, value string) error { return parse(t, value, want) }}
}

// Want is the end of an error for a value of another kind.
func Want(name, example string) string { return fmt.Sprintf("want as in %q", name+"="+example) }

// DurationOf returns the notation of a duration of at least least. It is set if it is more than unset.
func DurationOf[T any](name, example string, unset, least time.Duration, field func(*T) *time.Duration) Notation[T] {
	return Of(name, example, func(t *T) (string, bool) { return Duration(*field(t)), *field(t) > unset },
		func(t *T, value, want string) (err error) {
			d := field(t)
			if *d, err = ParseDuration(value, want); err == nil && *d < least {
				err = fmt.Errorf("%s is %s, want more than 0", name, value)
			}
			return err
		})
}

// Names returns the names of the notations.
func Names[T any](all []Notation[T]) (names []string) {
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

// Read sets in t what the words say, in the order of the notations, and calls other for the words that have none. It
// returns the first wrong word, and what is wrong with it.
func Read[T any](t *T, all []Word, notations []Notation[T], other func(Word) error) (wrong Word, err error) {
	given := make([]*Word, len(notations))
	for i, w := range all {
		k := slices.IndexFunc(notations, func(n Notation[T]) bool { return n.Name == w.Key })
		switch {
		case k < 0:
			err = other(w)
		case given[k] != nil:
			err = fmt.Errorf("a second %s, after %q; want one only", w.Key, given[k].Text)
		case notations[k].Example == "" && w.Assigned:
			err = fmt.Errorf("%s takes no value", w.Key)
		case notations[k].Example != "" && w.Value == "":
			err = fmt.Errorf("%s has no value, %s", w.Key, Want(w.Key, notations[k].Example))
		default:
			given[k] = &all[i]
		}
		if err != nil {
			return w, err
		}
	}
	for k, w := range given {
		if w == nil {
			continue
		}
		if err := notations[k].Parse(t, w.Value); err != nil {
			return *w, err
		}
	}
	return Word{}, nil
}
