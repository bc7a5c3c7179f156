package ending

import "errors"

// Permanent returns err with the mark that it must not be retried, nil for nil. A second mark at the top adds nothing.
func Permanent(err error) error {
	if _, ok := err.(*permanent); ok || err == nil {
		return err
	}
	return &permanent{err}
}

// IsPermanent reports whether err has the mark anywhere in its tree.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanent](err)
	return ok
}

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }
