package durable

// waiting is a heap of deliveries, ordered by the end of their waits.
type waiting []*delivery

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].ready.Before(w[j].ready) }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(d any)        { *w = append(*w, d.(*delivery)) }
func (w *waiting) Pop() any {
	s := *w
	d := s[len(s)-1]
	s[len(s)-1] = nil
	*w = s[:len(s)-1]
	return d
}
