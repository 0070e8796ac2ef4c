// Package natstest starts NATS servers for tests: one inside the process, or the real nats-server when it is installed.
// Both listen on 127.0.0.1 on a port of their own choice, keep it over restarts, and keep their JetStream store too.
package natstest
