package actor

import "github.com/troupe-go/troupe/internal/mailbox"

const (
	// budget is how many messages an actor handles before others get a turn.
	budget = 256
	// shareEvery is after how many messages what the actor has woken is offered to other carriers; a power of two.
	shareEvery = 32
	// gather is how many messages a batch should have before the owner takes the next one without a pause, gatherPause
	// that pause in turns of an empty loop, about a microsecond. See refill.
	gather      = 64
	gatherPause = 4000
)

// activate is one activation: it owns c, and ends when that is given up.
func (k *carrier) activate(c *cell) {
	k.cell, c.run = c, k
	k.left, k.gathered = budget, gather
	k.self = false
	if c.phase != ours { // foreign code has ended the goroutine of the last activation
		k.takeOver(c)
	}
	for !k.turn(c) {
	}
	k.cell, k.e = nil, &k.none
}

// turn handles what there is. False: again, foreign code has panicked where nobody caught it.
func (k *carrier) turn(c *cell) (done bool) {
	k.inside = true
	defer k.guard()
	if err := k.resume; err != nil {
		k.resume = nil
		c.interrupted(err)
	}
	chunks := &c.sys.sched.chunks
	for c.st != gone {
		if c.mb.Signalled() || c.raised != 0 {
			c.signals()
			continue
		}
		if !c.serving() {
			if k.giveUp(c, true) {
				break
			}
			continue
		}
		e := c.mb.Next(chunks)
		if e == nil {
			if e = c.fromBox(); e == nil {
				if k.refill(c) {
					break
				}
				continue
			}
		}
		c.user(e)
		if k.left--; k.left&(shareEvery-1) == 0 && k.pause(c) {
			break
		}
		if c.mb.AfterOne() && c.serving() && (c.idle.window.Load() == 0 || c.releaseQuick()) {
			c.run = nil
			if c.mb.LeaveAfterOne() {
				break
			}
			c.run = k
		}
	}
	k.inside = false
	return true
}

// pause lets others have a turn, now and then. True: the activation is over.
func (k *carrier) pause(c *cell) bool {
	if k.left > 0 || c.st == gone {
		k.share()
		return false
	}
	k.left = budget
	if !k.sched.some.Load() && !k.slotWaits() && !k.batchWaits() {
		return false
	}
	c.run = nil
	k.sched.enqueue(c, true)
	return true
}

// refill takes the next batch out of the mailbox. True: there was nothing to do, and the activation is over.
//
// If the last batch was small, a sender on another processor fills the mailbox right now: taking each message as it
// comes would move the mailbox's cache line back and forth between the two, which costs more than handling the message.
// So the owner waits for about a microsecond, once per batch, which is all the latency that it adds, and only while
// messages are coming; what the actor has woken goes to others before that. An actor that sends to itself is not
// waited for: nobody else fills its mailbox.
func (k *carrier) refill(c *cell) (over bool) {
	if !c.mb.Linked() {
		return k.giveUp(c, false)
	}
	if k.gathered < gather && !k.self && k.sched.max > 1 {
		k.share()
		mailbox.Pause(gatherPause)
	}
	if n := c.mb.Take(); n > 0 {
		k.gathered, k.self = n, false
	}
	return false
}

// giveUp ends the activation if there is nothing to do; with hold, messages are nothing to do.
func (k *carrier) giveUp(c *cell, hold bool) bool {
	word, ok := c.mb.Idle(hold)
	if !ok {
		return false
	}
	if c.idle.window.Load() != 0 {
		c.releaseIdle()
	}
	c.run = nil
	if c.mb.Leave(word, hold) {
		return true
	}
	c.run = k
	return false
}
