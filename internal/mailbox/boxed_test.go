package mailbox

import "testing"

// Something comes into the box after the owner has looked there and before it looks at the queue: the queue has nothing,
// and the owner must come back to the box.
func TestTakeOfABoxedMailbox(t *testing.T) {
	var m Mailbox[int]
	m.UseBox()
	if !m.Announce() {
		t.Fatal("nobody owned it")
	}
	m.LookIntoBox()
	m.Announce()
	if !m.Linked() {
		t.Error("the owner is not told that the box has something")
	}
	if n := m.Take(); n != 0 {
		t.Errorf("took %d", n)
	}
	if _, ok := m.Idle(false); ok {
		t.Error("the owner may leave although the box has something")
	}
	m.LookIntoBox()
	if w, ok := m.Idle(false); !ok || !m.Leave(w, false) {
		t.Error("the owner cannot leave")
	}
}
