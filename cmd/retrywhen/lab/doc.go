// Package lab is a web page that shows what a crowd of clients does to its server under the policies that are put into
// it: whether a server recovers from a moment's standstill, every retry of a herd, contention, a server that comes
// back, and which policy to take.
//
// Numbers computes the page's numbers, by package sim; its script only draws them. Handler serves the page and the
// numbers, WriteSite writes it for a server of files, with a worker that computes the same (see the folders wasm and
// site), and WritePage writes it as one file with the numbers inside. A State is all that a page shows, and its Query
// is the page's address.
//
// The scripts assets/app.js and worker.js are made of src by
//
//	npm ci && npm run build
//
// in this folder, and committed; a test makes them anew, where npm is at hand, and compares.
package lab
