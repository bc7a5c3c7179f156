// Package retryotel shows what policies do in OpenTelemetry: metrics of operations, attempts, delays and outages, and
// events on the spans of the operations.
//
// Names with "http." and "error." are OpenTelemetry's semantic conventions. There are none for retries: the names that
// begin with "retry." are this package's own and experimental.
//
// The functions are safe for concurrent use. Nil arguments panic at construction.
package retryotel
