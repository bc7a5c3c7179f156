package sim

import "github.com/retrywhen/retrywhen/retry"

// Strategy is a policy with its name in tables and charts.
type Strategy struct {
	Name      string       `json:"name"`
	Policy    retry.Policy `json:"policy"`
	Placement Placement    `json:"placement"`
}
