// Package reconnect runs reconnecttest.Check on the clients of other libraries, each configured as its README
// says. RECONNECT.md has the results. The module is outside of the workspace, so that its dependencies are downloaded
// only here.
package reconnect
