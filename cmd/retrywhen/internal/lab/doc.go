// Package lab is a web page that simulates clients of a server under chosen policies: whether a server recovers from a
// standstill, the choice of a policy, and a server that comes back.
//
// The page begins with a story and a map, whose pictures need no script. They and the numbers of each tab's first values
// are in the folder stored, which TestStored writes.
//
// Numbers computes the page's numbers with package sim; the page's script only draws them. Handler serves the page and
// the numbers. WriteSite writes the page for a file server, with a worker that computes the same numbers (see the
// folders wasm and site). WriteResult writes the page as one file with the numbers in it. A State is everything that
// the page shows. Its Query is the query of the page's address.
//
// The scripts assets/app.js and worker.js are built from src by
//
//	npm ci && npm run build
//
// in this folder, and committed. A test builds them again and compares.
package lab
