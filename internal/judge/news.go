package judge

// News is a channel that is full when something has happened.
type News chan struct{}

// NewNews returns one that is empty.
func NewNews() News { return make(News, 1) }

// Tell records that something has happened.
func (n News) Tell() {
	select {
	case n <- struct{}{}:
	default:
	}
}
