package prove_test

import (
	"context"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/prove"
)

func kinds(r prove.Report) (all []prove.Kind) {
	for _, f := range r.Findings {
		all = append(all, f.Kind)
	}
	slices.Sort(all)
	return all
}

func TestCheck_WrongClients(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, test := range map[string]struct {
		client client
		want   []prove.Kind
	}{
		"from the beginning again": {client{again: true}, []prove.Kind{prove.Repeated}},
		"from the end":             {client{fromEnd: true}, []prove.Kind{prove.Lost}},
		"half lines":               {client{half: true}, []prove.Kind{prove.Foreign, prove.Lost}},
		"gives up silently":        {client{givesUp: true}, []prove.Kind{prove.Ended}},
		"gives up":                 {client{fails: true}, []prove.Kind{prove.GaveUp}},
		"spins":                    {client{spins: true}, []prove.Kind{prove.Hot}},
		"deaf to silence":          {client{deaf: true}, []prove.Kind{prove.Silent}},
		"ignores its context":      {client{stubborn: true}, []prove.Kind{prove.Late}},
		"keeps connections":        {client{keeps: true}, []prove.Kind{prove.Open}},
		"wrong the second time":    {client{second: true}, []prove.Kind{prove.Lost}},
		"panics":                   {client{panics: true}, []prove.Kind{prove.Panic}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := s.target(test.client.run).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(kinds(report), test.want) {
				t.Errorf("got %v, want %v", kinds(report), test.want)
			}
			t.Logf("%+v", report)
			for _, f := range report.Findings {
				t.Log(f)
			}
		})
	}
}

func TestCheck_RightClient(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for range 3 {
		report, err := s.target(client{}.run).Check(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			t.Errorf("%s: %s\n%v", f.Kind, f, f.Timeline)
		}
		if report.Values != 6 || report.Places < 6 || report.Scenarios != 5*report.Places+17 || report.NotPlayed != 0 {
			t.Errorf("%+v", report)
		}
	}
}
