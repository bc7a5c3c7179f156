package prove

// Kind is what is wrong with a program.
type Kind string

// The kinds of faults. The table in the package comment says which check finds which.
const (
	// Of values:

	Lost     Kind = "lost"     // values did not come
	Repeated Kind = "repeated" // values came more often than undisturbed
	Foreign  Kind = "foreign"  // values came that do not come undisturbed
	Order    Kind = "order"    // values came after later ones

	// Of how it comes back:

	Hot    Kind = "hot"     // no wait before connections
	Silent Kind = "silent"  // silence is not noticed
	Away   Kind = "away"    // it does not come back
	GaveUp Kind = "gave-up" // it ended with an error
	Ended  Kind = "ended"   // it ended without an error
	Cap    Kind = "cap"     // a wait of more than five minutes
	Jitter Kind = "jitter"  // clients wait equally long
	Reset  Kind = "reset"   // counts or waits never start over
	Lag    Kind = "lag"     // it asks for a position that it has passed
	Gone   Kind = "gone"    // a lost position is not handled

	// Of how it ends:

	Late   Kind = "late"   // it does not return when told
	Left   Kind = "left"   // goroutines that it leaves
	Open   Kind = "open"   // connections that it leaves
	Second Kind = "second" // a second run of a stream lost or repeated values
	Stop   Kind = "stop"   // it goes on after yield returned false
	Panic  Kind = "panic"  // it panicked

	// Of calls:

	Early     Kind = "early"     // it asks again before the time of Retry-After
	Unsafe    Kind = "unsafe"    // it repeats what may have been carried out
	Body      Kind = "body"      // another attempt has another body or lacks a header
	Half      Kind = "half"      // it takes half an answer for a whole one
	Vain      Kind = "vain"      // it repeats what cannot succeed
	Swallowed Kind = "swallowed" // nothing succeeded, and it returned no error
	Storm     Kind = "storm"     // too many requests for one call
	Stale     Kind = "stale"     // it fails since a kept connection was closed

	// Of the check itself:

	Past     Kind = "past-the-proxy"   // it connects to the server without the proxy, so nothing was tested
	Unjudged Kind = "cannot-be-judged" // the check cannot see what it would have to
	Differs  Kind = "differs"          // two undisturbed runs differ
)
