// Package broker is the base of every actor that talks to the outside world.
package broker
