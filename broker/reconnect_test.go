package broker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

func TestConnectPublishStop(t *testing.T) {
	bubble(t, confirming, nil, func(w *world) {
		w.publish("a", "b", "c")
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "c"})
		b := w.books()
		equal(t, "acked", b.Acked, uint64(3))
		equal(t, "stop took", w.stop(), time.Duration(0))
		w.events("Connected")
		equal(t, "disconnects", w.fake.Disconnects(), 1)
	})
}

func TestEventSequence(t *testing.T) {
	t.Run("down at start", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(2) }, nil, func(w *world) {
			w.after(time.Hour)
			w.events("Attempt(1)", "Attempt(2)", "Connected")
			equal(t, "delays", w.attempts(), []time.Duration{200 * time.Millisecond, 400 * time.Millisecond})
		})
	})
	t.Run("live loss", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			w.drop(errors.New("gone"))
			w.after(time.Hour)
			w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		})
	})
	t.Run("maxAttempts", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(100) }, set(func(c *broker.Config) { c.Reconnect.MaxAttempts = 2 }), func(w *world) {
			w.after(time.Hour)
			w.events("Attempt(1)", "Attempt(2)", "Failed(2)")
			equal(t, "connects", w.fake.Connects(), 3)
		})
	})
	t.Run("attempt is published when the retry starts", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
			w.after(200*time.Millisecond - 1)
			w.events()
			w.fake.DialGate.Close()
			w.after(1)
			w.events("Attempt(1)")
			w.fake.DialGate.Open()
		})
	})
}

func TestReconnectCommand(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1) }, set(func(c *broker.Config) { c.Reconnect.Off = true }), func(w *world) {
		w.after(time.Hour)
		w.events("Failed(0)")
		w.ref.Tell(broker.Reconnect{})
		w.after(0)
		w.events("Failed(0)", "Connected")
		w.publish("a")
		equal(t, "sent", w.fake.Sent(), []brokertest.Sent{{Link: 2, Payload: "a"}})
	})
}
