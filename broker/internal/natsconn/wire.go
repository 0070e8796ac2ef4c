package natsconn

import (
	"fmt"
	"strings"

	natsgo "github.com/nats-io/nats.go"
)

// CheckSubject says what is wrong with a subject; wildcards says whether it may have some.
func CheckSubject(subject string, wildcards bool) error {
	if subject == "" {
		return fmt.Errorf("subject must not be empty")
	}
	if i := strings.IndexFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("subject %q must not contain spaces or control characters", subject)
	}
	for rest, more := subject, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		switch {
		case token == "":
			return fmt.Errorf("subject %q must not have an empty token: no dot at an end, no two in a row", subject)
		case !wildcards && (token == "*" || token == ">"):
			return fmt.Errorf("subject %q must not have a wildcard: a message goes to one subject", subject)
		case token == ">" && more:
			return fmt.Errorf("subject %q must have > as its last token only", subject)
		}
	}
	return nil
}

// CheckQueue says what is wrong with the name of a queue group.
func CheckQueue(queue string) error {
	if strings.ContainsFunc(queue, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("queue %q must not contain spaces or control characters", queue)
	}
	return nil
}

// HeaderSize is about the number of bytes a header takes on the wire.
func HeaderSize(header map[string][]string) (n int) {
	for key, values := range header {
		for _, v := range values {
			n += len(key) + len(v) + len(": \r\n")
		}
	}
	return n
}

// CheckHeader says what is wrong with a header: the driver would refuse a bad key and change a bad value.
func CheckHeader(header map[string][]string) error {
	for key, values := range header {
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) {
			return fmt.Errorf("header key %q must be printable ASCII without spaces and colons", key)
		}
		for _, v := range values {
			if strings.ContainsAny(v, "\r\n") || strings.TrimSpace(v) != v {
				return fmt.Errorf("header %s: value must not have line breaks, nor spaces at an end", key)
			}
		}
	}
	return nil
}

// IDHeader is where the message id travels.
const IDHeader = "Nats-Msg-Id"

// DeniedPublish returns the subject of a publish that the server refused for lack of permission; the driver reports that
// by text only.
func DeniedPublish(err error) (subject string, ok bool) {
	return denied(err, "publish to ")
}

// DeniedSubscription is DeniedPublish for a subscription.
func DeniedSubscription(err error) (subject string, ok bool) {
	return denied(err, "subscription to ")
}

func denied(err error, what string) (string, bool) {
	text := err.Error()
	if !strings.Contains(strings.ToLower(text), natsgo.PERMISSIONS_ERR) {
		return "", false
	}
	i := strings.Index(strings.ToLower(text), what)
	if i < 0 {
		return "", false
	}
	_, rest, ok := strings.Cut(text[i:], `"`)
	if !ok {
		return "", false
	}
	subject, _, ok := strings.Cut(rest, `"`)
	return subject, ok
}
