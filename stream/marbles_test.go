package stream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

type text = stream.Stream[string]

// marble is one run of an operator: what its source does, what comes of it, and when the source was subscribed to.
type marble struct {
	source string // a line for each subscription
	during string // the subscription, if it is cancelled
	want   string
	subs   string // a line for each subscription
	err    error  // that "#" of want stands for, if not for the source's
}

// expectMarbles runs the operator that apply makes for each of the cases.
func expectMarbles(t *testing.T, cases map[string]marble, apply func(s *streamtest.Session, src text) text) {
	t.Helper()
	for name, c := range cases {
		session(t, name, func(s *streamtest.Session) {
			src := streamtest.Cold[string](s, c.source)
			e := streamtest.ExpectDuring(s, apply(s, src.Stream), c.during)
			if c.err != nil {
				e.Error(c.err)
			}
			e.ToBe(c.want)
			src.Subscriptions(strings.Split(c.subs, "\n")...)
		})
	}
}

// expectFlow runs a stream of its own and checks what it does; "#" is err.
func expectFlow[T any](t *testing.T, name string, newStream func() stream.Stream[T], want string, err error) {
	t.Helper()
	session(t, name, func(s *streamtest.Session) { streamtest.Expect(s, newStream()).Error(err).ToBe(want) })
}

func session(t *testing.T, name string, f func(s *streamtest.Session)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { streamtest.Run(t, f) })
}

func TestMarbles(t *testing.T) {
	for _, operator := range []struct {
		name  string
		apply func(s *streamtest.Session, src text) text
		runs  map[string]marble
	}{
		{"Debounce", func(_ *streamtest.Session, src text) text { return src.Debounce(3 * ms) }, map[string]marble{
			"the last before a silence":            {source: "-a-b-c--------d---(e|)", want: "--------c--------d(e|)", subs: "^-----------------!"},
			"at the end the value comes at once":   {source: "(abc|)", want: "(c|)", subs: "(^!)"},
			"at an error too":                      {source: "(abc#)", want: "(c#)", subs: "(^!)"},
			"a cancel drops the value":             {source: "-a-", during: "--!", want: "----------", subs: "^-!"},
			"a steady flow waits until it ends":    {source: "--a-b-c-d-e-f|", want: "-------------(f|)", subs: "^------------!"},
			"what has come does not come again":    {source: "-a--------|", want: "----a-----|", subs: "^---------!"},
			"nor before an error":                  {source: "-a--------#", want: "----a-----#", subs: "^---------!"},
			"values that are further apart":        {source: "-a---b---|", want: "----a---b|", subs: "^--------!"},
			"an empty source, and a failing one":   {source: "---#", want: "---#", subs: "^--!"},
			"of values at once, the last":          {source: "(abc)--", want: "---c---", subs: "^"},
			"cancelled as the next one is awaited": {source: "-a-", during: "------!", want: "----a-------", subs: "^-----!"},
		}},
		{"Debounce, retried", func(_ *streamtest.Session, src text) text { return src.Debounce(3 * ms).Retry(1) }, map[string]marble{
			"retried": {source: "-a--------(b#)", want: "----a-----b---a-----(b#)", subs: "^---------!\n----------^---------!"},
		}},
		{"Throttle", func(_ *streamtest.Session, src text) text { return src.Throttle(5 * ms) }, map[string]marble{
			"the first of each window":                {source: "-a-b-c---d--e--(f|)", want: "-a-------d-----(f|)", subs: "^--------------!"},
			"a value at the end of the window passes": {source: "a----b----(c|)", want: "a----b----(c|)", subs: "^---------!"},
		}},
		{"ThrottleLatest", func(_ *streamtest.Session, src text) text { return src.ThrottleLatest(5 * ms) }, map[string]marble{
			"the first, and the latest of each window": {source: "-a-xy----b--x----c-d----|", want: "-a----y----b----x----d--|", subs: "^-----------------------!"},
			"one value":                            {source: "-a------------|", want: "-a------------|", subs: "^-------------!"},
			"values that are further apart":        {source: "-a------b------c------|", want: "-a------b------c------|", subs: "^---------------------!"},
			"two in one window":                    {source: "-ab-------|", want: "-a----b---|", subs: "^---------!"},
			"the second opens a window of its own": {source: "-a-b----c----d----|", want: "-a----b----c----d-|", subs: "^-----------------!"},
			"a value that waits comes at the end":  {source: "-a-b|", want: "-a--(b|)", subs: "^---!"},
			"and before an error":                  {source: "-a-b#", want: "-a--(b#)", subs: "^---!"},
			"once":                                 {source: "-a-b-----|", want: "-a----b--|", subs: "^--------!"},
			"all at once":                          {source: "(abc)-------|", want: "a----c------|", subs: "^-----------!"},
			"all at once, and the end":             {source: "(abc|)", want: "(ac|)", subs: "(^!)"},
			"an empty source":                      {source: "-----|", want: "-----|", subs: "^----!"},
			"one that ends at once":                {source: "|", want: "|", subs: "(^!)"},
			"a silent one":                         {source: "-", want: "-", subs: "^"},
			"a failure at once":                    {source: "#", want: "#", subs: "(^!)"},
			"a value and no end":                   {source: "-ab-", want: "-a----b------", subs: "^"},
			"cancelled in a window":                {source: "-a-b------|", during: "----!", want: "-a--------", subs: "^---!"},
		}},
		{"ThrottleLatest, retried", func(_ *streamtest.Session, src text) text { return src.ThrottleLatest(5 * ms).Retry(1) }, map[string]marble{
			"retried": {source: "-ab-------c-(d#)", want: "-a----b----cda----b----c(d#)", subs: "^-----------!\n------------^-----------!"},
		}},
		// The window begins with the delivery, so a consumer that is busy for longer finds it over.
		{"ThrottleLatest, a busy consumer", func(_ *streamtest.Session, src text) text {
			return src.ThrottleLatest(5 * ms).Tap(func(string) { time.Sleep(9 * ms) })
		}, map[string]marble{
			// b waits in the source when the consumer is done with a, and c comes after it.
			"for 9 ms": {source: "-a-bc-------------------------(d|)", want: "----------a--------b--------c----------(d|)", subs: "^-----------------------------!"},
		}},
		{"Delay", func(_ *streamtest.Session, src text) text { return src.Delay(5 * ms) }, map[string]marble{
			"each value is held, and its source waits": {source: "(abc|)", want: "-----a----b----(c|)", subs: "^--------------!"},
			"an error is not delayed":                  {source: "(a#)", want: "-----(a#)", subs: "^----!"},
			"nor is the end":                           {source: "|", want: "|", subs: "(^!)"},
			"cancelled while it holds":                 {source: "(abc|)", during: "-------!", want: "-----a--", subs: "^------!"},
		}},
		{"TimeShift", func(_ *streamtest.Session, src text) text { return src.TimeShift(5*ms, 9) }, map[string]marble{
			"values keep their distances":           {source: "-a-b--c--------|", want: "------a-b--c---|", subs: "^--------------!"},
			"the end waits for the last value":      {source: "-a-b|", want: "------a-(b|)", subs: "^---!"},
			"an error too, and drops none":          {source: "-a-b#", want: "------a-(b#)", subs: "^---!"},
			"the end of an empty source is in time": {source: "---|", want: "---|", subs: "^--!"},
			"a failure without a value too":         {source: "---#", want: "---#", subs: "^--!"},
			"one that ends at once":                 {source: "|", want: "|", subs: "(^!)"},
			"values of one instant":                 {source: "(abc|)", want: "-----(abc|)", subs: "(^!)"},
			"a value, then silence":                 {source: "-a-", want: "------a--", subs: "^"},
			"a silent one":                          {source: "-", want: "-", subs: "^"},
			"cancelled, it drops what is held":      {source: "-a-b-c-|", during: "-------!", want: "------a---", subs: "^------!"},
			"cancelled before the first value":      {source: "-a-b-c-|", during: "---!", want: "---------", subs: "^--!"},
		}},
		// The time of a value is that at which the source made it, also while the consumer is busy.
		{"TimeShift, a busy consumer", func(_ *streamtest.Session, src text) text {
			return src.TimeShift(5*ms, 9).Tap(func(string) { time.Sleep(4 * ms) })
		}, map[string]marble{
			"for 4 ms": {source: "abc---------(d|)", want: "---------a---b---c---(d|)", subs: "^-----------!"},
		}},
		{"TimeShift, stopped", func(_ *streamtest.Session, src text) text { return src.TimeShift(5*ms, 9).Take(2) }, map[string]marble{
			"at the second value": {source: "ab---------c", want: "-----a(b|)", subs: "^-----!"},
		}},
		{"Timeout", func(_ *streamtest.Session, src text) text { return src.Timeout(5 * ms) }, map[string]marble{
			"to the first value":          {source: "-", want: "-----#", subs: "^----!", err: stream.ErrTimeout},
			"between values":              {source: "---a--b-----c|", want: "---a--b----#", subs: "^----------!", err: stream.ErrTimeout},
			"to the end":                  {source: "a--------|", want: "a----#", subs: "^----!", err: stream.ErrTimeout},
			"a source that is in time":    {source: "----a---b---(c|)", want: "----a---b---(c|)", subs: "^-----------!"},
			"one that fails in time":      {source: "----#", want: "----#", subs: "^---!"},
			"cancelled before it strikes": {source: "-", during: "---!", want: "--------", subs: "^--!"},
		}},
		{"Timeout, retried", func(_ *streamtest.Session, src text) text { return src.Timeout(5 * ms).Retry(5) }, map[string]marble{
			"retried": {source: "-a\n-b\n(c|)", want: "-a-----b----(c|)", subs: "^-----!\n------^-----!\n------------(^!)"},
		}},
		{"TakeUntilDone", func(_ *streamtest.Session, src text) text { return src.TakeUntilDone(closedAt(5 * ms)) }, map[string]marble{
			"ends it, with no value after": {source: "-a-b--c-d|", want: "-a-b-|", subs: "^----!"},
			"ends a silent source":         {source: "-", want: "-----|", subs: "^----!"},
			"a source that ends before":    {source: "-a-|", want: "-a-|", subs: "^--!"},
			"one that fails before":        {source: "-a-#", want: "-a-#", subs: "^--!"},
			"one that would have failed":   {source: "-a-----#", want: "-a---|", subs: "^----!"},
			"an empty one":                 {source: "|", want: "|", subs: "(^!)"},
			"cancelled before":             {source: "-a-b-c-d|", during: "---!", want: "-a--", subs: "^--!"},
		}},
		{"IgnoreElements", func(_ *streamtest.Session, src text) text { return src.IgnoreElements() }, map[string]marble{
			"the end":           {source: "-a--b-c|", want: "-------|", subs: "^------!"},
			"values at once":    {source: "(ab|)", want: "|", subs: "(^!)"},
			"an empty source":   {source: "---|", want: "---|", subs: "^--!"},
			"no end":            {source: "-a--b-", want: "------", subs: "^"},
			"a failure":         {source: "-a--b-#", want: "------#", subs: "^-----!"},
			"a failure at once": {source: "#", want: "#", subs: "(^!)"},
			"cancelled":         {source: "-a--b-c|", during: "---!", want: "----", subs: "^--!"},
		}},
		{"StartWith", func(_ *streamtest.Session, src text) text { return src.StartWith("x") }, map[string]marble{
			"comes before the source":  {source: "--a--b-|", want: "x-a--b-|", subs: "^------!"},
			"a source that never ends": {source: "----a-", want: "x---a-", subs: "^"},
			"a silent one":             {source: "-", want: "x-", subs: "^"},
			"one that ends late":       {source: "----|", want: "x---|", subs: "^---!"},
			"an empty one":             {source: "|", want: "(x|)", subs: "(^!)"},
			"one that speaks at once":  {source: "(ab)--|", want: "(xab)-|", subs: "^-----!"},
			"a failing one":            {source: "--a--#", want: "x-a--#", subs: "^----!"},
			"one that fails at once":   {source: "#", want: "(x#)", subs: "(^!)"},
			"cancelled in the middle":  {source: "--a--b--c|", during: "----!", want: "x-a--", subs: "^---!"},
		}},
		{"DefaultIfEmpty", func(_ *streamtest.Session, src text) text { return src.DefaultIfEmpty("x") }, map[string]marble{
			"a source with values":    {source: "--a--b|", want: "--a--b|", subs: "^-----!"},
			"an empty source":         {source: "-----|", want: "-----(x|)", subs: "^----!"},
			"one that ends at once":   {source: "|", want: "(x|)", subs: "(^!)"},
			"a silent one":            {source: "-", want: "-", subs: "^"},
			"a value and no end":      {source: "-a-", want: "-a-", subs: "^"},
			"a failure":               {source: "----#", want: "----#", subs: "^---!"},
			"a failure at once":       {source: "#", want: "#", subs: "(^!)"},
			"a failure after a value": {source: "--a--#", want: "--a--#", subs: "^----!"},
			"cancelled":               {source: "-----|", during: "---!", want: "----", subs: "^--!"},
		}},
		{"SwitchIfEmpty", func(s *streamtest.Session, src text) text {
			return src.SwitchIfEmpty(streamtest.Cold[string](s, "-x-y|").Stream)
		}, map[string]marble{
			"a source with values":    {source: "--a--b|", want: "--a--b|", subs: "^-----!"},
			"an empty source":         {source: "---|", want: "----x-y|", subs: "^--!"},
			"one that ends at once":   {source: "|", want: "-x-y|", subs: "(^!)"},
			"a silent one":            {source: "-", want: "-", subs: "^"},
			"a failure":               {source: "---#", want: "---#", subs: "^--!"},
			"a failure after a value": {source: "--a--#", want: "--a--#", subs: "^----!"},
			"cancelled in the other":  {source: "---|", during: "-----!", want: "----x-", subs: "^--!"},
		}},
		{"SkipLast", func(_ *streamtest.Session, src text) text { return src.SkipLast(2) }, map[string]marble{
			"an empty source":          {source: "---|", want: "---|", subs: "^--!"},
			"one that ends at once":    {source: "|", want: "|", subs: "(^!)"},
			"too few values":           {source: "-a-|", want: "---|", subs: "^--!"},
			"a silent one":             {source: "-", want: "-", subs: "^"},
			"no end":                   {source: "-a-b-c-d-", want: "-----a-b-", subs: "^"},
			"a failure loses the last": {source: "-a-b-c-#", want: "-----a-#", subs: "^------!"},
			"a failure at once":        {source: "#", want: "#", subs: "(^!)"},
			"cancelled in the middle":  {source: "-a-b-c-d|", during: "------!", want: "-----a-", subs: "^-----!"},
		}},
		{"TakeLast", func(_ *streamtest.Session, src text) text { return src.TakeLast(2) }, map[string]marble{
			"an empty source":                  {source: "---|", want: "---|", subs: "^--!"},
			"one that ends at once":            {source: "|", want: "|", subs: "(^!)"},
			"one value":                        {source: "-a-|", want: "---(a|)", subs: "^--!"},
			"three":                            {source: "--a-b--c-|", want: "---------(bc|)", subs: "^--------!"},
			"a silent one":                     {source: "-", want: "-", subs: "^"},
			"no end, no value":                 {source: "-a-b-c-", want: "-------", subs: "^"},
			"a failure has no last values":     {source: "-a-b-c-#", want: "-------#", subs: "^------!"},
			"a failure at once":                {source: "#", want: "#", subs: "(^!)"},
			"cancelled, there are none either": {source: "-a-b-c-|", during: "----!", want: "-----", subs: "^---!"},
		}},
		{"TakeLast(0)", func(_ *streamtest.Session, src text) text { return src.TakeLast(0) }, map[string]marble{
			"as Take(0)": {source: "--a-b--c-|", want: "|", subs: "-"},
		}},
		{"SkipLast(0)", func(_ *streamtest.Session, src text) text { return src.SkipLast(0) }, map[string]marble{
			"all": {source: "-a--b-c|", want: "-a--b-c|", subs: "^------!"},
		}},
	} {
		t.Run(operator.name, func(t *testing.T) { expectMarbles(t, operator.runs, operator.apply) })
	}
}
