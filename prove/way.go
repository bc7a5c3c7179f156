package prove

// Way is how a connection breaks.
type Way string

// The ways.
const (
	Cut     Way = "cut"     // RST before a chunk, and after the last
	Amid    Way = "amid"    // FIN, and RST, after the first byte of a chunk, at its half, and after newlines in it
	End     Way = "end"     // FIN before a chunk, and after the last
	Silence Way = "silence" // both directions are swallowed; the kernel still answers
	Refuse  Way = "refuse"  // RST, and for 2 s RST to each new connection, and the same with FIN; at the first, middle and last place
	Twice   Way = "twice"   // RST, FIN or silence at the middle place, and again early in a later connection
)
