package lab

// step is a step of the story.
type step struct {
	title, text string
	strategies  []int // of Question
}

// story leads from a constant wait to a policy without gaps and peaks, in the order of "Visualization of backoff
// functions". The last step answers that article's question.
var story = []step{
	{"A constant wait", "All jobs wait for the same time, so all of them come back at the same time: a hundred at once, then none. " +
		"The server is overloaded, then idle.", []int{0}},
	{"Exponential", "Longer waits help a server that stays down. But the jobs still come together: each wave is as high as the first, and the " +
		"time between two waves is wasted.", []int{0, 1}},
	{"Random: Sidekiq's formula", "A random part spreads each wave, and later waves more than earlier ones. The first waves are still high, and before the last one " +
		"there is a gap of minutes.", []int{1, 2}},
	{"Random: buckets", "Each retry falls into a bucket that overlaps with the next one, so there is no gap. But a random load is uneven: it is highest at the beginning, and " +
		"the waits of two jobs differ a lot.", []int{2, 3}},
	{"Tiled", "Each job keeps its place in every wait, so the waves join without gaps and without peaks. The total wait is the same as Sidekiq's, with no dead time, " +
		"a lower peak, and waits that differ less. Use it for jobs that fail together.", []int{2, 4}},
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

// describedStep is a step in the page's JSON.
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
