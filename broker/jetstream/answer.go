package jetstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// answer is what came back for a publish.
type answer struct {
	receipt Receipt // of an error only the stream, if that
	err     error
	later   bool // the refusal need not be the last word
}

// readAnswer reads an answer; without asked the receipt of a good one is left out.
func readAnswer(m *natsgo.Msg, asked bool) answer {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return answer{err: ErrNoStream, later: true} // or the stream has no leader now
	}
	if !asked && plainAck(m.Data) {
		return answer{}
	}
	var a struct {
		Error     *js.APIError `json:"error"`
		Stream    string       `json:"stream"`
		Sequence  uint64       `json:"seq"`
		Duplicate bool         `json:"duplicate"`
	}
	switch err := json.Unmarshal(m.Data, &a); {
	case err != nil:
		return answer{err: fmt.Errorf("unreadable answer: %w", err), later: true}
	case a.Error != nil:
		return answer{receipt: Receipt{Stream: a.Stream}, err: a.Error, later: temporary(a.Error)}
	case a.Stream == "":
		return answer{err: errors.New("the answer names no stream"), later: true}
	}
	return answer{receipt: Receipt{a.Stream, a.Sequence, a.Duplicate}}
}

// plainAck recognises the common answer without reading it in full: it names a stream and no error. Neither name can be
// part of a value, for values have no quotation marks in them.
func plainAck(data []byte) bool {
	return bytes.HasPrefix(data, []byte(`{"stream":"`)) && !bytes.Contains(data, []byte(`"error"`))
}

// Error codes of the server that say that it cannot now; every other refusal, except those with the status 503, is final.
const (
	codeMemoryExceeded  = 10028
	codeStorageExceeded = 10047
	codeStoreFailed     = 10077
	codeStreamOffline   = 10118
	codeWrongSequence   = 10071
	statusUnavailable   = 503
)

// wrongSequence recognises that the condition of a message did not hold.
func wrongSequence(err error) bool {
	var e *js.APIError
	return errors.As(err, &e) && e.ErrorCode == codeWrongSequence
}

// temporary tells what may pass by itself (no leader, no quorum, disk full) from what will not (wrong sequence, too
// large, a full stream that was told to refuse).
func temporary(e *js.APIError) bool {
	switch e.ErrorCode {
	case codeMemoryExceeded, codeStorageExceeded, codeStreamOffline:
		return true
	case codeStoreFailed:
		return !strings.Contains(e.Description, "maximum ") // messages, bytes, messages per subject: discard new
	}
	return e.Code == statusUnavailable
}
