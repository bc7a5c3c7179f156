package durable

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// What a Config may not have, and what is just allowed.
func TestConfig_Invalid(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string // in the error, "" for none
	}{
		"only a name":            {Config{Name: "a"}, ""},
		"the longest name":       {Config{Name: strings.Repeat("a-B_9", 12) + "1234"}, ""},
		"a longer name":          {Config{Name: strings.Repeat("a", 65)}, "Config.Name is"},
		"no name":                {Config{}, `Config.Name is "", want 1 to 64 letters`},
		"a name with a dot":      {Config{Name: "a.b"}, `Config.Name is "a.b"`},
		"one replica":            {Config{Name: "a", Replicas: 1}, ""},
		"two replicas":           {Config{Name: "a", Replicas: 2}, "Config.Replicas is 2, want 1, 3 or 5, or 0 for the default"},
		"three replicas":         {Config{Name: "a", Replicas: 3}, ""},
		"four replicas":          {Config{Name: "a", Replicas: 4}, "Config.Replicas is 4"},
		"five replicas":          {Config{Name: "a", Replicas: 5}, ""},
		"seven replicas":         {Config{Name: "a", Replicas: 7}, "Config.Replicas is 7"},
		"a negative replica":     {Config{Name: "a", Replicas: -1}, "Config.Replicas is -1"},
		"a short lease":          {Config{Name: "a", Lease: time.Second - 1}, "Config.Lease is 999.999999ms, want at least 1s"},
		"the shortest lease":     {Config{Name: "a", Lease: time.Second}, ""},
		"a negative lease":       {Config{Name: "a", Lease: -time.Second}, "Config.Lease is -1s"},
		"a negative KeepDead":    {Config{Name: "a", KeepDead: -1}, "Config has KeepDead -1ns, Grace 0s, MaxPayload 0, MaxDead 0, want none negative"},
		"a negative Grace":       {Config{Name: "a", Grace: -1}, "Grace -1ns"},
		"a negative MaxPayload":  {Config{Name: "a", MaxPayload: -1}, "MaxPayload -1"},
		"a negative MaxDead":     {Config{Name: "a", MaxDead: -1}, "MaxDead -1"},
		"a short KeepDead":       {Config{Name: "a", KeepDead: time.Second - 1}, "Config.KeepDead is 999.999999ms, want at least 1s, or 0 for forever"},
		"the shortest KeepDead":  {Config{Name: "a", KeepDead: time.Second}, ""},
		"a negative MaxCrashes":  {Config{Name: "a", MaxCrashes: -1}, "Config.MaxCrashes is -1, want at least 1, or 0 for the default"},
		"a negative Remember":    {Config{Name: "a", Remember: -1}, "Config.Remember is -1ns"},
		"a short Remember":       {Config{Name: "a", Remember: 30*time.Second - 1}, "Config.Remember is 29.999999999s, want at least one Lease (30s)"},
		"the shortest Remember":  {Config{Name: "a", Remember: 30 * time.Second}, ""},
		"Remember below a lease": {Config{Name: "a", Lease: time.Minute, Remember: 30 * time.Second}, "want at least one Lease (1m0s)"},
	} {
		c, err := test.config.withDefaults()
		if err == nil {
			c.adopt(nil)
			err = c.checkSettings(Config{Remember: 1})
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "durable: open: ")) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestConfig_Defaults(t *testing.T) {
	c, err := Config{Name: "a"}.withDefaults()
	c.adopt(nil)
	if err != nil || c.Policy.String() != "exponential base=1s factor=2 cap=1h jitter=equal within=24h attempttimeout=30m" || c.Lease != 30*time.Second || c.Remember != 2*time.Minute || c.MaxDead != 100_000 || c.MaxCrashes != 5 ||
		c.Logger == nil || c.KeepDead != 0 || c.Grace != 5*time.Second || c.MaxPayload != 0 || c.Replicas != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	own := Config{Name: "a", Policy: retry.Default.With(retry.Limit(1), retry.AttemptTimeout(time.Hour)), Lease: time.Minute, Remember: time.Hour, MaxDead: 3, MaxCrashes: 2, Logger: slog.Default()}
	if c, err := own.withDefaults(); err != nil || c.Policy != own.Policy || c.Lease != own.Lease || c.Remember != own.Remember || c.MaxDead != 3 ||
		c.MaxCrashes != 2 || c.Logger == nil {
		t.Errorf("got %+v, %v, want it as it was", c, err)
	}
}
