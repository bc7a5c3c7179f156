// Package permanent marks errors that must not be retried.
package permanent

import "errors"

// Mark returns err with the mark, nil for nil. A second mark at the top adds nothing.
func Mark(err error) error {
	if _, ok := err.(*marked); ok || err == nil {
		return err
	}
	return &marked{err}
}

// Is reports whether err has the mark anywhere in its tree.
func Is(err error) bool {
	_, ok := errors.AsType[*marked](err)
	return ok
}

type marked struct{ err error }

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }
