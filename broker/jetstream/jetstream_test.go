package jetstream_test

import (
	"testing"

	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/natstest"
)

// A message is confirmed by the stream, and handled by the target with what the stream knows of it.
func TestPublishedMessageIsConfirmedAndConsumed(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	s := newSink(nil)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor))))

	r := publish(t, ref, jetstream.Publish{Subject: "orders.new", Data: []byte("x"), Header: map[string][]string{"Kind": {"a", "b"}}, ID: "id-1"})
	if r.Stream != "ORDERS" || r.Sequence != 1 || r.Duplicate {
		t.Errorf("receipt %+v, want sequence 1 of ORDERS, no duplicate", r)
	}
	again := publish(t, ref, jetstream.Publish{Subject: "orders.new", Data: []byte("x"), ID: "id-1"})
	if again.Sequence != 1 || !again.Duplicate {
		t.Errorf("receipt %+v for the same id, want a duplicate of sequence 1", again)
	}
	eventually(t, "message handled", func() bool { return s.count() == 1 })
	m := s.messages()[0]
	if m.Subject != "orders.new" || string(m.Data) != "x" || len(m.Header["Kind"]) != 2 || m.ID() != "id-1" {
		t.Errorf("message %+v", m)
	}
	if m.Stream != "ORDERS" || m.Consumer != "WORKER" || m.Sequence != 1 || m.ConsumerSequence != 1 || m.Deliveries != 1 || m.Time.IsZero() {
		t.Errorf("metadata %+v", m)
	}
	plain := srv.JetStream()
	eventually(t, "acknowledged", func() bool {
		c, err := plain.Consumer(t.Context(), "ORDERS", "WORKER")
		return err == nil && c.CachedInfo().AckFloor.Stream == 1 && c.CachedInfo().NumAckPending == 0
	})
}
