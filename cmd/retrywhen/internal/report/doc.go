// Package report computes the command's simulations: a herd, contention, an outage, an overload and a choice, each
// under several policies. The text, the pictures, the JSON and the page show these numbers.
package report
