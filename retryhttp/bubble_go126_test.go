//go:build !go1.27

package retryhttp_test

// closeFreezes says that a Close amid a Read of an HTTP/1 body waits for a mutex, which freezes a bubble.
const closeFreezes = false
