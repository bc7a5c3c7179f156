package sim

// Placement defines which processes the operations of a run are in, and so where the draws for their delays come from.
// It matters most to Tiled, which keeps one draw for a whole operation.
type Placement string

const (
	// OneProcess takes the draws from the operation's process. With Tiled each operation draws the next number of its
	// process's golden-ratio sequence, as in a real process; the seed determines where the sequences start. With any other
	// backoff each delay is drawn at random.
	OneProcess Placement = ""

	// ByOrdinal numbers the operations from 0; the number determines all delays: see backoff.Backoff's Ordinal.
	ByOrdinal Placement = "by-ordinal"
)
