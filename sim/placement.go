package sim

import "fmt"

// Placement says which processes the operations of a run are in, and so where the draws for their delays come from. It
// matters most to Tiled, which keeps one draw for a whole operation.
type Placement uint8

const (
	// OneProcess has all operations in one process: under Tiled each is given the next number of a golden-ratio sequence
	// (its start drawn from the seed), as the policies of a process do. Under any other backoff each delay is drawn at
	// random.
	OneProcess Placement = iota

	// ProcessEach has each operation in a process of its own: under Tiled it draws its one number at random. For any other
	// backoff it is the same as OneProcess.
	ProcessEach

	// ByKey gives each operation a key of its own, by which all its delays are fixed: backoff.Backoff's Keyed.
	ByKey

	// ByOrdinal numbers the operations from 0, and fixes the delays of each by its number: backoff.Backoff's Ordinal.
	ByOrdinal
)

var placements = [...]string{"one-process", "process-each", "by-key", "by-ordinal"}

const placementsText = "one-process, process-each, by-key or by-ordinal"

// String returns one-process, process-each, by-key or by-ordinal.
func (p Placement) String() string {
	if int(p) < len(placements) {
		return placements[p]
	}
	return fmt.Sprintf("Placement(%d)", uint8(p))
}

// MarshalText returns what String does. It is an error if p is none of the constants.
func (p Placement) MarshalText() ([]byte, error) {
	if int(p) >= len(placements) {
		return nil, fmt.Errorf("sim: %v is no placement, want %s", p, placementsText)
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads what String returns; an empty text is one-process.
func (p *Placement) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = OneProcess
		return nil
	}
	for i, name := range placements {
		if name == string(text) {
			*p = Placement(i)
			return nil
		}
	}
	return fmt.Errorf("sim: %q is no placement, want %s", text, placementsText)
}

func (c *checker) placement(field string, p Placement) {
	if int(p) >= len(placements) {
		c.fail(field, uint8(p), "one-process (0), process-each (1), by-key (2) or by-ordinal (3)")
	}
}
