// Package servertest starts the real servers that tests want, as processes of their own: on 127.0.0.1, on a free port that
// they keep over restarts, with their data in a directory of the test, in a mode in which they keep what they have
// confirmed. A server that is not installed skips the test, as package require says. (NATS has package natstest.)
package servertest
