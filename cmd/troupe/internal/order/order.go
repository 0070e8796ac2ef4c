// Package order is what the demo processes: orders, where they come from, and the sum they ought to have.
package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of one order, so that no total of a run overflows.
const (
	// MaxName is the longest id and the longest customer, in bytes.
	MaxName = 200
	// MaxAmount is the largest amount, in cents, either way.
	MaxAmount = 1_000_000_000_000
)

// Order is one line of the input.
type Order struct {
	// ID tells orders apart; two orders with the same ID are the same order.
	ID string `json:"id"`
	// Customer is whose total the order belongs to.
	Customer string `json:"customer"`
	// Amount is in cents.
	Amount int64 `json:"amount"`
}

// line has the fields of an Order as the input may leave them out.
type line struct {
	ID       *string      `json:"id"`
	Customer *string      `json:"customer"`
	Amount   *json.Number `json:"amount"`
}

// Parse reads one JSON object with the keys id, customer and amount, a whole number of cents. Other keys are ignored. The
// error says what is wrong with the line. It keeps nothing of data.
func Parse(data []byte) (Order, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Order{}, errors.New("the line is empty")
	}
	var l line
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&l); err != nil {
		return Order{}, explain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Order{}, errors.New("there is something behind the JSON object")
	}
	switch {
	case l.ID == nil:
		return Order{}, errors.New(`"id" is missing`)
	case l.Customer == nil:
		return Order{}, errors.New(`"customer" is missing`)
	case l.Amount == nil:
		return Order{}, errors.New(`"amount" is missing`)
	}
	o := Order{ID: *l.ID, Customer: *l.Customer}
	if err := checkName("id", o.ID); err != nil {
		return Order{}, err
	}
	if err := checkName("customer", o.Customer); err != nil {
		return Order{}, err
	}
	amount, err := l.Amount.Int64()
	if err != nil {
		return Order{}, fmt.Errorf(`"amount" must be a whole number of cents, it is %s`, *l.Amount)
	}
	if amount > MaxAmount || amount < -MaxAmount {
		return Order{}, fmt.Errorf(`"amount" must be between %d and %d, it is %d`, -MaxAmount, MaxAmount, amount)
	}
	o.Amount = amount
	return o, nil
}

// checkName refuses what could not be told apart or would be printed badly.
func checkName(key, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%q must not be empty", key)
	case len(value) > MaxName:
		return fmt.Errorf("%q must have at most %d bytes, it has %d", key, MaxName, len(value))
	}
	for _, r := range value {
		if r < 0x20 || r == 0x7f {
			return fmt.Errorf("%q must not contain the control character %q", key, r)
		}
	}
	return nil
}

// explain says in the terms of the input what the JSON package found.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("it must be a JSON object, it is a JSON %s", wrong.Value)
	case errors.As(err, &wrong):
		want := "a string"
		if wrong.Field == "amount" {
			want = "a whole number of cents"
		}
		return fmt.Errorf("%q must be %s, it is a JSON %s", wrong.Field, want, wrong.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is not JSON: it ends too early")
	}
	return fmt.Errorf("it is not JSON: %w", err)
}
