package lab

// step is one of the story.
type step struct {
	title, text string
	strategies  []int // of Question
}

// story leads from a constant wait to a policy without gaps and pile-ups, in the order of "Visualization of backoff
// functions", which asks for the last.
var story = []step{
	{"A constant wait", "Everybody waits for the same time, so everybody comes back at the same time: a hundred at once, then nobody. " +
		"The server is down again, or idle.", []int{0}},
	{"Exponential", "Longer waits are kinder to a server that stays down. But the crowd stays a crowd: each wave is as high as the first, and the " +
		"time between two is lost.", []int{0, 1}},
	{"Random: Sidekiq's formula", "A random part spreads each wave, and the more so the later it is. The first ones still pile up, and before the last there is " +
		"a gap of minutes.", []int{1, 2}},
	{"Random: buckets", "Each retry falls into a bucket that overlaps with the next one, so there is no gap. But chance is uneven: the first moments are the worst, and " +
		"the waits of two jobs have little in common.", []int{2, 3}},
	{"Tiled", "Each job keeps one place in every wait, so the waves join without a gap and without a pile-up. It takes as long as Sidekiq's, with no dead time, " +
		"a lower peak, and waits that differ less. This is what to take for jobs that fail together.", []int{2, 4}},
}

// Story returns the state of a step, from 1 to the number of steps.
func Story(n int) State {
	s := Question()
	all := s.Strategies
	s.Step, s.Strategies = n, nil
	for _, i := range story[n-1].strategies {
		s.Strategies = append(s.Strategies, all[i])
	}
	return s
}

// describedStep is a step as the page wants it.
type describedStep struct {
	N     int    `json:"n"`
	Title string `json:"title"`
	Text  string `json:"text"`
	Query string `json:"query"`
}

func describedStory() []describedStep {
	steps := make([]describedStep, len(story))
	for i, s := range story {
		steps[i] = describedStep{i + 1, s.title, s.text, Story(i + 1).Query().Encode()}
	}
	return steps
}
