// Package model is what the command's simulations compute: a herd, a contention, an outage, each under several
// policies. The text, the pictures, the JSON and the page show the same numbers.
package model
