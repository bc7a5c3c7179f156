// Package prove breaks a program's connections to a real server, in real time, and judges what the program delivers.
package prove
