package router

import "errors"

var (
	// ErrConfig is wrapped by the errors of Config.Validate, Pool and Group.
	ErrConfig = errors.New("router: bad configuration")
	// ErrNoRoutee is the reason of the dead letter for a message that came when no routee was left, or none that is not
	// stopping.
	ErrNoRoutee = errors.New("router: no routee is left")
	// ErrNoKey is the reason of the dead letter for a message that ConsistentHash found no key for.
	ErrNoKey = errors.New("router: the message has no key")
	// ErrLogic is the reason of the dead letter for a message whose Logic chose nobody, chose an index that is out of
	// range, or panicked.
	ErrLogic = errors.New("router: the logic made no valid choice")
	// ErrDraining is the reason of the dead letter for a message that came after Drain.
	ErrDraining = errors.New("router: draining")
	// ErrNoReply ends an ask that was sent to all routees when each of them has handled it and none has replied.
	ErrNoReply = errors.New("router: no routee replied")
	// ErrRoutee is the answer to an AddRoutee, RemoveRoutee or Resize that cannot be carried out as it is.
	ErrRoutee = errors.New("router: bad change")
)
