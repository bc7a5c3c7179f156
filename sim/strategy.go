package sim

import "github.com/retrywhen/retrywhen/retry"

// Strategy is a policy under the name that tables and charts call it by.
type Strategy struct {
	Name      string       `json:"name"`
	Policy    retry.Policy `json:"policy"`
	Placement Placement    `json:"placement"`
}
