package sim

import "time"

// Service is the time that a server works on one request, at full speed. The server's capacity is one request each
// Mean.
type Service struct {
	Mean time.Duration `json:"mean"` // more than 0
}
