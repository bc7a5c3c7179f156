// Package retryotel reports the work of policies to OpenTelemetry: metrics of operations, attempts, delays and outages,
// and events on the spans of the operations.
//
// Names with "http." and "error." are OpenTelemetry's semantic conventions. There are no conventions for retries: the
// names that begin with "retry." are defined by this package and experimental.
//
// The functions are safe for concurrent use. Nil arguments panic at construction, with the argument's name.
package retryotel
