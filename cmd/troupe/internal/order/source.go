package order

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"time"
)

// MaxLine is the longest line that is read as an order, in bytes; a longer one is a bad line.
const MaxLine = 64 << 10

// Entry is one line of the input on its way to the publisher: a good one has an Order, a bad one an Err.
type Entry struct {
	Line  int
	Order Order
	Err   error
}

// Source hands out the entries of an input one after the other, and enters the good ones in a Book. One goroutine reads
// ahead by one line. Make one with FromGenerator or FromReader, start it with Start.
type Source struct {
	lines iter.Seq2[Entry, error]
	out   chan Entry
	book  *Book
	bad   atomic.Int64
	total int     // lines, -1 when unknown
	ahead []Entry // read by Probe, for Next
	err   error
	done  chan struct{}
}

// FromGenerator returns a source of n generated orders.
func FromGenerator(n, customers int, seed uint64) *Source {
	return newSource(n, func(yield func(Entry, error) bool) {
		line := 0
		for o := range Generate(n, customers, seed) {
			line++
			if !yield(Entry{Line: line, Order: o}, nil) {
				return
			}
		}
	})
}

// FromReader returns a source of JSON lines. total is the number of lines if it is known, else -1.
func FromReader(r io.Reader, total int) *Source {
	return newSource(total, func(yield func(Entry, error) bool) { readLines(r, yield) })
}

func newSource(total int, lines iter.Seq2[Entry, error]) *Source {
	return &Source{lines: lines, total: total, out: make(chan Entry), book: NewBook(), done: make(chan struct{})}
}

// Start begins to read, on a goroutine that ends with the input or with ctx. While it is blocked in a Read that cannot be
// interrupted, as one of a terminal or pipe, it outlives ctx. Call it once.
func (s *Source) Start(ctx context.Context) {
	go func() {
		defer close(s.out)
		defer close(s.done)
		for e, err := range s.lines {
			if err != nil {
				s.err = err
				return
			}
			if e.Err == nil {
				e.Err = s.book.Add(e.Order, e.Line)
			}
			if e.Err != nil {
				s.bad.Add(1)
			}
			select {
			case s.out <- e:
			case <-ctx.Done():
				s.err = context.Cause(ctx)
				return
			}
		}
	}()
}

// Probe learns the number of lines of a short input whose length is not known: it reads up to limit lines ahead, for at
// most wait. After Start and before the first Next.
func (s *Source) Probe(ctx context.Context, wait time.Duration, limit int) {
	if s.total >= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var ahead []Entry
	for len(ahead) < limit {
		select {
		case e, ok := <-s.out:
			if !ok {
				s.ahead, s.total = ahead, len(ahead)
				return
			}
			ahead = append(ahead, e)
		case <-ctx.Done():
			s.ahead = ahead
			return
		}
	}
	s.ahead = ahead
}

// Next waits for the next entry. ok is false at the end of the input and when ctx ends; see Err. One goroutine at a time
// may call Next or TryNext.
func (s *Source) Next(ctx context.Context) (e Entry, ok bool) {
	if e, ok = s.takeAhead(); ok {
		return e, true
	}
	select {
	case e, ok = <-s.out:
	case <-ctx.Done():
	}
	return e, ok
}

// TryNext is Next that does not wait; ok is false when nothing is there at once.
func (s *Source) TryNext() (e Entry, ok bool) {
	if e, ok = s.takeAhead(); ok {
		return e, true
	}
	select {
	case e, ok = <-s.out:
	default:
	}
	return e, ok
}

func (s *Source) takeAhead() (e Entry, ok bool) {
	if len(s.ahead) == 0 {
		return e, false
	}
	e, s.ahead = s.ahead[0], s.ahead[1:]
	return e, true
}

// Total is the number of lines, -1 when it is not known before the end.
func (s *Source) Total() int { return s.total }

// Bad is the number of bad lines so far. Any goroutine may call it.
func (s *Source) Bad() int64 { return s.bad.Load() }

// Book is what the input adds up to. It waits for the end of the input.
func (s *Source) Book() *Book {
	<-s.done
	return s.book
}

// Err is why the input ended early, nil at its orderly end. It waits for that end.
func (s *Source) Err() error {
	<-s.done
	return s.err
}

// readLines yields every line, or the error that ends the reading.
func readLines(r io.Reader, yield func(Entry, error) bool) {
	buf := bufio.NewReaderSize(r, MaxLine)
	for n := 1; ; n++ {
		data, err := readLine(buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLong) {
			yield(Entry{}, fmt.Errorf("line %d: %w", n, err))
			return
		}
		if errors.Is(err, io.EOF) && len(data) == 0 {
			return
		}
		if n == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		e := Entry{Line: n}
		if errors.Is(err, errLong) {
			e.Err = err
		} else {
			e.Order, e.Err = Parse(data)
		}
		if !yield(e, nil) || errors.Is(err, io.EOF) {
			return
		}
	}
}

var errLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// readLine returns the next line without its end. errLong means that it was skipped, io.EOF that none follows.
func readLine(buf *bufio.Reader) ([]byte, error) {
	data, err := buf.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimRight(data, "\r\n"), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = buf.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, errLong // if it was the last line, the next call says so
}

// CountLines reads r to its end and returns the number of lines, a last one without a line feed included.
func CountLines(r io.Reader) (int, error) {
	buf := make([]byte, 64<<10)
	lines, open := 0, false
	for {
		n, err := r.Read(buf)
		if n > 0 {
			lines += bytes.Count(buf[:n], []byte{'\n'})
			open = buf[n-1] != '\n'
		}
		if errors.Is(err, io.EOF) {
			if open {
				lines++
			}
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}
