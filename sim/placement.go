package sim

// Placement defines which processes the operations of a run are in, and so where the draws for their delays come from.
// It matters most to Tiled, which keeps one draw for a whole operation.
type Placement uint8

const (
	// OneProcess takes the draws from the operation's process. With Tiled each operation draws the next number of its
	// process's golden-ratio sequence, as in a real process; the seed determines where the sequences start. With any other
	// backoff each delay is drawn at random.
	OneProcess Placement = iota

	// ByKey gives each operation its own key, which determines all its delays: see backoff.Backoff's Keyed.
	ByKey

	// ByOrdinal numbers the operations from 0; the number determines all delays: see backoff.Backoff's Ordinal.
	ByOrdinal
)

var placements = choices{"Placement", []string{"one-process", "by-key", "by-ordinal"}}

// String returns one-process, by-key or by-ordinal.
func (p Placement) String() string { return placements.text(uint8(p)) }

// MarshalText returns the text of String. It returns an error if p is none of the constants.
func (p Placement) MarshalText() ([]byte, error) { return placements.marshal(uint8(p)) }

// UnmarshalText parses the text of String. An empty text is one-process.
func (p *Placement) UnmarshalText(text []byte) error { return placements.unmarshal((*uint8)(p), text) }
