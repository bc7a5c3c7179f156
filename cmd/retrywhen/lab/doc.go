// Package lab is a local web page that shows what a crowd of clients does to its server under the policies that are put
// into it: every retry, the load, the waits, contention, and a server that comes back.
//
// Handler serves it, with the numbers that the page asks for; WritePage writes it as one file with the numbers inside.
// The numbers come from package sim; the page's script only draws them. A State is all that a page shows, and its Query
// is the page's address.
//
// The script in assets/app.js is made of src by
//
//	npm ci && npm run build
//
// in this folder, and committed; a test makes it anew, where npm is at hand, and compares.
package lab
