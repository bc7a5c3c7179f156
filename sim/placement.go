package sim

import "fmt"

// Placement says where the operations of a run take the draws for their delays from. It matters most to Tiled, which
// keeps one draw for a whole operation.
type Placement uint8

const (
	// Golden is what the policies of one process do: under Tiled each operation is given the next number of a golden-ratio
	// sequence (its start drawn from the seed); under any other backoff each delay is drawn at random.
	Golden Placement = iota

	// Random is a fleet of one operation to a process: under Tiled each operation draws its one number at random. For any
	// other backoff it is the same as Golden.
	Random

	// Keyed gives each operation a key of its own, by which all its delays are fixed: backoff.Backoff's Keyed.
	Keyed
)

var placements = [...]string{"golden", "random", "keyed"}

// String returns golden, random or keyed.
func (p Placement) String() string {
	if int(p) < len(placements) {
		return placements[p]
	}
	return fmt.Sprintf("Placement(%d)", uint8(p))
}

// MarshalText returns golden, random or keyed.
func (p Placement) MarshalText() ([]byte, error) {
	if int(p) >= len(placements) {
		return nil, fmt.Errorf("sim: %v is no placement, want golden, random or keyed", p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads golden, random or keyed; an empty text is golden.
func (p *Placement) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = Golden
		return nil
	}
	for i, name := range placements {
		if name == string(text) {
			*p = Placement(i)
			return nil
		}
	}
	return fmt.Errorf("sim: %q is no placement, want golden, random or keyed", text)
}

func (c *checker) placement(field string, p Placement) {
	if int(p) >= len(placements) {
		c.fail(field, uint8(p), "golden (0), random (1) or keyed (2)")
	}
}
