package ending

import "errors"

// Permanent returns err with the mark that it must not be retried, nil for nil. A second mark at the top adds nothing.
func Permanent(err error) error { return mark[permanent](err) }

// IsPermanent reports whether err has the mark anywhere in its tree.
func IsPermanent(err error) bool { return isMarked[permanent](err) }

// Planned returns err with the mark of a planned end, nil for nil. A second mark at the top adds nothing.
func Planned(err error) error { return mark[planned](err) }

// IsPlanned reports whether err has the mark anywhere in its tree.
func IsPlanned(err error) bool { return isMarked[planned](err) }

type (
	permanent struct{}
	planned   struct{}
)

// marked is an error with the mark M. It has the error's text.
type marked[M any] struct{ error }

func (m *marked[M]) Unwrap() error { return m.error }

func mark[M any](err error) error {
	if _, ok := err.(*marked[M]); ok || err == nil {
		return err
	}
	return &marked[M]{err}
}

func isMarked[M any](err error) bool {
	_, ok := errors.AsType[*marked[M]](err)
	return ok
}
