// Package chaos is a TCP proxy that breaks connections on purpose, for tests and the demo.
//
// It listens on 127.0.0.1 on a port of its own choice, keeps that port for its life, and passes what it gets to one
// target. Faults are switched on and off while it runs and may be combined:
//
//	Refuse / Accept      the port answers connection refused, as if the server were down
//	Reset                every link ends with RST, at once
//	Hole                 every link stays open but nothing passes any more, in either direction; it can be lifted
//	Silent               new connections are accepted and never answered, and the target does not hear of them
//	ResetAfterHandshake  the next n connections get RST right after they were accepted
//	CutAfter             each link ends with RST when n bytes have passed
//	Split                every byte is written by itself
//	Latency              everything arrives later
//
// A link is one connection of a client together with the one to the target. Everything a link does without faults is
// what the two ends do: a close of one end's writing side arrives as such at the other, and so does a reset.
package chaos
