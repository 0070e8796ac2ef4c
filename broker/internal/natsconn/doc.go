// Package natsconn is what the protocols on NATS share: how a connection is made on a broker.Link, which settings that
// takes, and what subjects and headers may look like.
package natsconn
