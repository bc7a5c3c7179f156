package sim

import "github.com/retrywhen/retrywhen/backoff"

// Strategy is a backoff under the name that tables and charts call it by.
type Strategy struct {
	Name      string          `json:"name"`
	Backoff   backoff.Backoff `json:"backoff"`
	Placement Placement       `json:"placement"`
}
